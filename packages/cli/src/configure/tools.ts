/** The tools that `holt configure` knows, and their settings. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { usageFailure } from "../failure.ts";
import { changeFile, inHome, netrc, withBlock, withIniValue, withXmlElement, xdgConfig } from "./edit-file.ts";
import type { FileChange, Target, Tool } from "./tool.ts";

export const tools: Readonly<Record<string, Tool>> = {
  docker: {
    title: "docker, and podman, skopeo, crane and helm, which read the same file",
    rights: [],
    files: docker,
    hint: ({ host, path }) => (isOnPath("docker-credential-holt") ? `Try: docker pull ${host}/${path}/IMAGE` : MISSING_HELPER),
  },
  pip: {
    title: "pip",
    rights: ["RIGHT_PYTHON_PULL"],
    files: (target) => [
      changeFile(process.env.PIP_CONFIG_FILE || xdgConfig("pip", "pip.conf"), (text) =>
        withIniValue(text, "global", `index-url = ${simpleIndex(target)}`),
      ),
      netrc("pip", target),
    ],
    hint: () => "pip now reads this library alone, not the public index. Try: pip install PACKAGE",
  },
  uv: {
    title: "uv",
    rights: ["RIGHT_PYTHON_PULL"],
    files: (target) => [
      changeFile(xdgConfig("uv", "uv.toml"), (text) =>
        withBlock(text, "uv", `[[index]]\nname = "holt"\nurl = "${simpleIndex(target)}"\ndefault = true`),
      ),
      netrc("uv", target),
    ],
    hint: () => "uv now reads this library instead of the public index. Try: uv pip install PACKAGE",
  },
  maven: { title: "Maven", rights: ["RIGHT_JAVA_PULL"], files: maven, hint: () => "Try: mvn dependency:resolve" },
  gradle: {
    title: "Gradle",
    rights: ["RIGHT_JAVA_PULL"],
    files: gradle,
    hint: () => "All builds of this user now also resolve from the library.",
  },
  kubernetes: { title: "Kubernetes", rights: ["RIGHT_IMAGES_PULL"], print: kubernetesSecret },
};

const MISSING_HELPER =
  "docker-credential-holt is not on the PATH, where docker looks for it. It is installed beside holt; in a checkout it is in node_modules/.bin.";

function isOnPath(program: string): boolean {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => existsSync(join(folder, program)) || existsSync(join(folder, `${program}.cmd`)));
}

/** Clients ask docker-credential-holt, so no password is stored. */
function docker({ host }: Target): FileChange[] {
  const path = join(process.env.DOCKER_CONFIG || inHome(".docker"), "config.json");
  return [
    changeFile(path, (text) => {
      const settings = parseSettings(text, path);
      settings.credHelpers = { ...(settings.credHelpers as object | undefined), [host]: "holt" };
      const indent = /^\{\n([ \t]+)/.exec(text)?.[1] ?? "\t";
      return `${JSON.stringify(settings, null, indent)}\n`;
    }),
  ];
}

function parseSettings(text: string, path: string): Record<string, unknown> {
  try {
    return text.trim() === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  } catch {
    throw usageFailure(`${path} is not valid JSON`, "repair it first");
  }
}

/** Names of groups may have spaces, which a URL must not have. */
function simpleIndex({ url, path }: Target): string {
  return `${url}/libraries/python/${encodeURI(path)}/simple/`;
}

/** Java repositories separate the names of folders by colons. */
function javaRepository({ url, path }: Target): string {
  return `${url}/libraries/java/${encodeURI(path).replaceAll("/", ":")}/`;
}

const EMPTY_SETTINGS = '<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0">\n</settings>\n';

function maven(target: Target): FileChange[] {
  const { userName, password } = target;
  const repository = `<id>holt</id><url>${javaRepository(target)}</url>`;
  const profile = `<profile><id>holt</id><repositories><repository>${repository}</repository></repositories></profile>`;
  return [
    changeFile(
      inHome(".m2", "settings.xml"),
      (text) => {
        const server = `<server><id>holt</id><username>${userName}</username><password>${password}</password></server>`;
        const begun = text.trim() === "" ? EMPTY_SETTINGS : text;
        if (!begun.includes("</settings>")) throw usageFailure("~/.m2/settings.xml has no end tag </settings>", "repair it first");
        const withServer = withXmlElement(begun, "servers", server);
        return withXmlElement(withXmlElement(withServer, "profiles", profile), "activeProfiles", "<activeProfile>holt</activeProfile>");
      },
      true,
    ),
  ];
}

function gradle(target: Target): FileChange[] {
  const { url, userName, password } = target;
  const insecure = url.startsWith("http:") ? "\n      allowInsecureProtocol = true" : "";
  const script = `// Written by holt configure gradle.
allprojects {
  repositories {
    maven {
      url = uri("${javaRepository(target)}")${insecure}
      credentials {
        username = "${userName}"
        password = "${password}"
      }
    }
  }
}
`;
  return [changeFile(join(process.env.GRADLE_USER_HOME || inHome(".gradle"), "init.d", "holt.gradle"), () => script, true)];
}

function kubernetesSecret({ host, userName, password }: Target): string {
  const auth = Buffer.from(`${userName}:${password}`).toString("base64");
  const content = JSON.stringify({ auths: { [host]: { username: userName, password, auth } } });
  return [
    "apiVersion: v1",
    "kind: Secret",
    "metadata:",
    "  name: holt",
    "type: kubernetes.io/dockerconfigjson",
    "data:",
    `  .dockerconfigjson: ${Buffer.from(content).toString("base64")}`,
    "",
  ].join("\n");
}
