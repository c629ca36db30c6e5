// Makes and uses passkeys on the pages of sign-in. Each button with data-passkey has the options of its ceremony; the
// browser's answer goes into the field `credential` of its form, which is then sent.

function bytesFromBase64url(text) {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function base64urlFromBytes(buffer) {
  const binary = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function withBytes(credentials) {
  return credentials.map((credential) => ({ ...credential, id: bytesFromBase64url(credential.id) }));
}

async function createPasskey(options, form) {
  const label = form.elements.email?.value || form.elements.name?.value || options.user.name;
  const user = { ...options.user, id: bytesFromBase64url(options.user.id), name: label, displayName: label };
  const excludeCredentials = withBytes(options.excludeCredentials);
  const publicKey = { ...options, user, excludeCredentials, challenge: bytesFromBase64url(options.challenge) };
  const { id, type, response } = await navigator.credentials.create({ publicKey });
  return {
    ...{ id, rawId: id, type, clientExtensionResults: {} },
    response: {
      clientDataJSON: base64urlFromBytes(response.clientDataJSON),
      attestationObject: base64urlFromBytes(response.attestationObject),
      transports: response.getTransports?.() ?? [],
    },
  };
}

async function usePasskey(options) {
  const publicKey = { ...options, challenge: bytesFromBase64url(options.challenge), allowCredentials: withBytes(options.allowCredentials) };
  const { id, type, response } = await navigator.credentials.get({ publicKey });
  return {
    ...{ id, rawId: id, type, clientExtensionResults: {} },
    response: {
      clientDataJSON: base64urlFromBytes(response.clientDataJSON),
      authenticatorData: base64urlFromBytes(response.authenticatorData),
      signature: base64urlFromBytes(response.signature),
      userHandle: response.userHandle ? base64urlFromBytes(response.userHandle) : undefined,
    },
  };
}

function problemOf(error) {
  if (error.name === "InvalidStateError") return "This device has a passkey for the account already.";
  if (error.name === "NotAllowedError") return "The browser did not confirm a passkey. Try again, or choose another way.";
  return `The browser cannot do that: ${error.message}`;
}

async function run(button) {
  const { form } = button;
  const problem = form.querySelector("[data-passkey-problem]");
  const options = JSON.parse(button.dataset.options);
  button.disabled = true;
  problem.hidden = true;
  try {
    const answer = button.dataset.passkey === "create" ? await createPasskey(options, form) : await usePasskey(options);
    form.elements.credential.value = JSON.stringify(answer);
    form.submit();
  } catch (error) {
    problem.textContent = problemOf(error);
    problem.hidden = false;
    button.disabled = false;
  }
}

if (window.PublicKeyCredential && navigator.credentials) {
  for (const button of document.querySelectorAll("button[data-passkey]")) {
    button.hidden = false;
    button.addEventListener("click", () => void run(button));
  }
}
