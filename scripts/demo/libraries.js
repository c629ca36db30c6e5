// Python source distributions, one of them yanked, and Java artifacts.
import { tarGzOf } from "./images.js";

export async function publishLibraries({ api, folders }) {
  for (const version of ["1.0", "1.1", "2.0"]) await publishPython(api, folders.payments, "ledger-client", version);
  await publishPython(api, folders["web-shop"], "shop-theme", "0.4");
  const yank = new URLSearchParams({ reason: "loses bookings at midnight" });
  await api.send("POST", `/libraries/python/${ownerOf(folders.payments)}/simple/ledger-client/1.1/yank`, { body: yank });
  for (const version of ["1.0.0", "1.1.0"]) await publishJava(api, folders.payments, "ledger-api", version);
}

async function publishPython(api, group, name, version) {
  const folder = `${name.replaceAll("-", "_")}-${version}`;
  const metadata = `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\nSummary: A demonstration package\n`;
  const form = new FormData();
  form.set(":action", "file_upload");
  const file = await tarGzOf({ [`${folder}/PKG-INFO`]: metadata, [`${folder}/setup.py`]: "" });
  form.set("content", new Blob([file]), `${folder}.tar.gz`);
  await api.send("POST", `/libraries/python/${ownerOf(group)}/`, { body: form });
}

async function publishJava(api, group, artifact, version) {
  const pom = `<project><modelVersion>4.0.0</modelVersion><groupId>test.acme</groupId><artifactId>${artifact}</artifactId><version>${version}</version><name>A demonstration artifact</name></project>`;
  const folder = `/libraries/java/${ownerOf(group)}/test/acme/${artifact}/${version}/${artifact}-${version}`;
  await api.send("PUT", `${folder}.pom`, { body: pom });
  await api.send("PUT", `${folder}.jar`, { body: Buffer.from(`PK\x05\x06${"\0".repeat(18)}`, "latin1") });
}

function ownerOf(group) {
  return group.replaceAll("/", ":");
}
