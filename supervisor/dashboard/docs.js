"use strict";

// The endpoints of this server, by Swagger UI; nothing is loaded from elsewhere, a validator neither.
SwaggerUIBundle({ url: "/openapi.json", dom_id: "#endpoints", validatorUrl: null, deepLinking: true });
