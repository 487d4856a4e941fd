import { Check, ChevronDown } from 'lucide-react'
import {
  useEffect,
  useId,
  useRef,
  useState,
  type ComponentPropsWithRef,
  type ReactElement,
  type ReactNode,
  type RefObject,
} from 'react'
import {
  Menu as AriaMenu,
  MenuItem as AriaMenuItem,
  MenuTrigger,
  Popover,
  Separator,
  Text as AriaText,
} from 'react-aria-components'

import { registerMenu, type PageMenuItem } from '~/lib/pageMenus'
import { toast } from '~/lib/toasts'
import { Button, type ButtonProps } from '~/ui/Button'
import { classes } from '~/ui/classes'
import { copyText } from '~/ui/copyText'
import { MiddleText, Text } from '~/ui/Text'

import fieldStyles from './fieldStyles.module.css'
import styles from './Menu.module.css'

/** A refused item stays in the menu with its reason; choosing it copies the reason. */
export interface MenuAction extends PageMenuItem {
  icon?: ReactNode
  description?: string
  isDanger?: boolean
}

interface MenuButtonProps extends Pick<ButtonProps, 'variant' | 'size' | 'icon'> {
  /** The text of the button, or its name if it shows an icon only. */
  label: string
  showsIconOnly?: boolean
  items: readonly (MenuAction | 'separator')[]
  /** Called when the menu opens or closes: rows must not move under an open menu. */
  onOpenChange?: (isOpen: boolean) => void
}

/** A button that opens a menu. */
export function MenuButton({
  label,
  showsIconOnly = false,
  items,
  onOpenChange,
  variant,
  size,
  icon,
}: MenuButtonProps): ReactElement {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const latest = useRef({ label, items })
  useEffect(() => {
    latest.current = { label, items }
  })
  useEffect(() => registerMenu(id, () => latest.current), [id])
  const change = (open: boolean): void => {
    setOpen(open)
    onOpenChange?.(open)
  }
  return (
    <MenuTrigger isOpen={isOpen} onOpenChange={change}>
      {showsIconOnly ? (
        <Button variant={variant ?? 'quiet'} size={size} icon={icon} label={label} data-menu={id} />
      ) : (
        <Button variant={variant} size={size} icon={icon} data-menu={id}>
          <MiddleText>{label}</MiddleText>
          <ChevronDown size={16} aria-hidden />
        </Button>
      )}
      <OpenMenu label={label} items={items} />
    </MenuTrigger>
  )
}

interface OpenMenuProps extends Pick<MenuButtonProps, 'label' | 'items'> {
  /** Where it stands and how it closes, if that is not up to a MenuTrigger around it. */
  at?: { button: RefObject<HTMLElement>; focus: true | 'first'; onClose: () => void }
}

/** A menu that is open. */
export function OpenMenu({ label, items, at }: OpenMenuProps): ReactElement {
  return (
    <Popover
      className={fieldStyles.popover}
      placement="bottom end"
      {...(at && { triggerRef: at.button, isOpen: true, onOpenChange: at.onClose })}
    >
      <AriaMenu aria-label={label} className={styles.menu} {...(at && { autoFocus: at.focus, onClose: at.onClose })}>
        {items.map((item, index) =>
          item === 'separator' ? (
            <Separator key={index} className={styles.separator} />
          ) : (
            <Item key={item.id} item={item} />
          ),
        )}
      </AriaMenu>
    </Popover>
  )
}

function Item({ item }: { item: MenuAction }): ReactElement {
  const refusal = item.right?.allowed === false ? (item.right.reason ?? 'Not possible now') : null
  const run = async (): Promise<void> => {
    if (refusal === null) item.onAction()
    else if (await copyText(refusal)) toast('Copied the reason')
  }
  const more = refusal ?? item.description
  return (
    <AriaMenuItem
      id={item.id}
      textValue={item.label}
      // A disabled item of React Aria takes no focus, and then nobody learns why.
      render={(props) => (
        <div
          {...(props as ComponentPropsWithRef<'div'>)}
          {...(item.isSelected === undefined ? {} : { role: 'menuitemradio', 'aria-checked': item.isSelected })}
          aria-disabled={refusal === null ? undefined : true}
        />
      )}
      className={classes(
        fieldStyles.option,
        item.isDanger === true && refusal === null && styles.danger,
        refusal !== null && styles.refused,
      )}
      onAction={() => void run()}
    >
      {item.icon}
      {/* One name for both: what is seen is what is read. */}
      <AriaText slot="label" className={fieldStyles.optionText}>
        <span>{item.label}</span>
        {more !== undefined && (
          <span className={styles.more}>
            <Text>{more}</Text>
          </span>
        )}
      </AriaText>
      {item.isSelected === true && <Check size={16} aria-hidden />}
    </AriaMenuItem>
  )
}
