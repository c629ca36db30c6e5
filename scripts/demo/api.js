// Requests to the server, as JSON or with the bytes of content.

/** @param token of an identity that may create organizations */
export function createApi(baseUrl, token) {
  const authorization = `Bearer ${token}`;

  async function send(method, path, { body, headers = {} } = {}) {
    const response = await fetch(new URL(path, `${baseUrl}/`), { method, headers: { authorization, ...headers }, body }).catch((error) => {
      throw new Error(`The server at ${baseUrl} does not answer: ${error.cause?.message ?? error.message}. Start it with: npm start`);
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text.slice(0, 500)}`);
    return text;
  }

  const json = async (method, path, message) => {
    const body = message === undefined ? undefined : JSON.stringify(message);
    return JSON.parse((await send(method, path, { body, headers: { "content-type": "application/json" } })) || "{}");
  };
  return {
    baseUrl,
    send,
    get: (path) => json("GET", path),
    post: (path, message) => json("POST", path, message),
    put: (path, message) => json("PUT", path, message),
    patch: (path, message) => json("PATCH", path, message),
    /** Uid of a built-in role. */
    async role(name) {
      const { roles } = await json("GET", `/iam/v2/roles?name=${name}`);
      return roles[0].uid;
    },
    /** Uid of the caller. */
    async self() {
      return (await json("GET", "/auth/v1/ok")).subject;
    },
  };
}
