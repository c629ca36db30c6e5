// Fills a demonstration organization on a running server, through its public API.
//
//   npm run demo                         the server at http://127.0.0.1:8080, with a token of its owner
//   HOLT_BASE_URL=... TOKEN=... npm run demo
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fillAdvisories } from "./advisories.js";
import { createApi } from "./api.js";
import { pushImages } from "./images.js";
import { publishLibraries } from "./libraries.js";
import { createPeople } from "./people.js";

const NAME = process.env.HOLT_DEMO_NAME ?? "demo";
const GROUPS = ["platform", "payments", "web-shop"];

const baseUrl = (process.env.HOLT_BASE_URL ?? "http://127.0.0.1:8080").replace(/\/$/, "");
const api = createApi(baseUrl, process.env.TOKEN ?? ownerToken());

/** Works in the folder of Holt, for users who can read the data folder. */
function ownerToken() {
  const program = join(dirname(fileURLToPath(import.meta.url)), "../../packages/server/bin/holtd.js");
  return execFileSync(process.execPath, [program, "token"], { encoding: "utf8" }).trim();
}

const { groups: existing = [] } = await api.get(`/iam/v2/groups?uidp.in_root=true&name=${encodeURIComponent(NAME)}`);
if (existing.length > 0) {
  console.error(`There is an organization ${NAME} already. HOLT_DEMO_NAME=another npm run demo fills another one.`);
  process.exit(1);
}
const organization = await api.post("/iam/v2/groups/", { name: NAME, description: "A demonstration of what Holt shows" });
const folders = {};
for (const name of GROUPS) folders[name] = (await api.post(`/iam/v2/groups/${organization.uid}`, { name })).uid;
const context = { api, organization: { uid: organization.uid, name: NAME }, folders };
for (const [title, fill] of [
  ["people, machines and webhooks", createPeople],
  ["images", pushImages],
  ["libraries", publishLibraries],
  ["advisories", fillAdvisories],
]) {
  console.log(`Filling ${title} …`);
  await fill(context);
}
console.log(`Done. The organization is at ${baseUrl}/console/${organization.uid}`);
