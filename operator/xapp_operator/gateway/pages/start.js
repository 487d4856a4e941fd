// After signing in here, requests of this page carry the proof that belongs to the session cookie.
const PROOF = "xapp-operator.session-proof";

window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  requestInterceptor: (request) => {
    const proof = localStorage.getItem(PROOF);
    if (proof) request.headers["X-Session-Proof"] ??= proof;
    return request;
  },
  responseInterceptor: (response) => {
    if (new URL(response.url, location).pathname.endsWith("/session")) {
      if (response.status === 201 && response.body?.proof) localStorage.setItem(PROOF, response.body.proof);
      if (response.status === 204) localStorage.removeItem(PROOF);
    }
    return response;
  },
});
