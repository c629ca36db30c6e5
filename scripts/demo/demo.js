// Fills a demonstration organization on a running server, through its public API.
//
//   npm run demo                    the server of the settings, as for `npm start`, with a token of its owner
//   npm run demo -- another         an organization with another name
//   HOLT_BASE_URL=... TOKEN=... npm run demo
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fillAdvisories } from "./advisories.js";
import { createApi } from "./api.js";
import { pushImages } from "./images.js";
import { publishLibraries } from "./libraries.js";
import { createPeople } from "./people.js";

const GROUPS = ["platform", "payments", "web-shop"];
const STEPS = [
  ["people, machines and webhooks", createPeople],
  ["images", pushImages],
  ["libraries", publishLibraries],
  ["advisories", fillAdvisories],
];

await fill(process.argv[2] ?? "demo").catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});

async function fill(name) {
  const token = process.env.TOKEN ?? ownerToken();
  const api = createApi((process.env.HOLT_BASE_URL ?? issuerOf(token)).replace(/\/$/, ""), token);
  const { groups: existing = [] } = await api.get(`/iam/v2/groups?uidp.in_root=true&name=${encodeURIComponent(name)}`);
  if (existing.length > 0) throw new Error(`There is an organization ${name} already. For another one, run: npm run demo -- another`);
  const organization = await api.post("/iam/v2/groups/", { name, description: "A demonstration of what Holt shows" });
  const folders = {};
  for (const folder of GROUPS) folders[folder] = (await api.post(`/iam/v2/groups/${organization.uid}`, { name: folder })).uid;
  for (const [title, fillStep] of STEPS) {
    console.log(`Filling ${title} …`);
    await fillStep({ api, organization: { uid: organization.uid, name }, folders });
  }
  console.log(`Done. The organization is at ${api.baseUrl}/console/${organization.uid}`);
}

/** Works for users who can read the data folder. */
function ownerToken() {
  const program = join(dirname(fileURLToPath(import.meta.url)), "../../packages/server/bin/holtd.js");
  try {
    return execFileSync(process.execPath, [program, "token"], { encoding: "utf8" }).trim();
  } catch {
    throw new Error("There is no token of the owner, because of the problem above.");
  }
}

/** The URL of the server that issued the token. */
function issuerOf(token) {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).iss;
}
