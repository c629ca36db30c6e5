/** Configuration of package managers for the library of a group. */
import { Stack, Text, Title } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { CopyText } from "../object/copy-text.tsx";
import { useNamedPath } from "../tree/named-path.ts";
import type { EcosystemView } from "./ecosystem.ts";

export interface SetupProps {
  readonly ecosystem: EcosystemView;
  /** uid of the group. */
  readonly group: string;
  /** The package to install; a placeholder by default. */
  readonly name?: string;
  readonly version?: string;
}

export function Setup({ ecosystem, group, name, version }: SetupProps) {
  const { path: names, error } = useNamedPath(group);
  if (error !== null) return <ErrorAlert error={error} title="The commands cannot be shown" />;
  if (names === undefined) return <Loading />;
  const path = `/libraries/${ecosystem.path}/${names.join(":")}/`;
  const snippets = ecosystem.path === "python" ? pythonSnippets(path, name) : javaSnippets(path, name, version);
  return (
    <Stack>
      <Text>
        <code>USER</code> and <code>PASSWORD</code> are those of a pull token, or <code>_token</code> and an access token.
      </Text>
      {snippets.map(([title, text]) => (
        <div key={title}>
          <Title order={2} size="h5" mb={4}>
            {title}
          </Title>
          <CopyText isBlock label={`setup for ${title}`} text={text} />
        </div>
      ))}
    </Stack>
  );
}

type Snippets = readonly (readonly [title: string, text: string])[];

function pythonSnippets(path: string, name = "PACKAGE"): Snippets {
  const { protocol, host, origin } = location;
  const index = `${protocol}//USER:PASSWORD@${host}${path}simple/`;
  return [
    ["pip", `pip install --index-url "${index}" ${name}`],
    ["pip.conf", `[global]\nindex-url = ${index}`],
    ["uv", `export UV_INDEX_HOLT_USERNAME=USER UV_INDEX_HOLT_PASSWORD=PASSWORD\nuv add --index holt=${origin}${path}simple/ ${name}`],
    [
      "poetry",
      `poetry source add --priority=primary holt ${origin}${path}simple/\npoetry config http-basic.holt USER PASSWORD\npoetry add --source holt ${name}`,
    ],
    ["twine, to publish", `twine upload --repository-url ${origin}${path} -u USER -p PASSWORD dist/*`],
  ];
}

function javaSnippets(path: string, name = "GROUP:ARTIFACT", version = "VERSION"): Snippets {
  const url = `${location.origin}${path}`;
  const [groupId, artifactId] = name.split(":");
  const server = "<server>\n  <id>holt</id>\n  <username>USER</username>\n  <password>PASSWORD</password>\n</server>";
  const dependency = `<dependency>\n  <groupId>${groupId}</groupId>\n  <artifactId>${artifactId}</artifactId>\n  <version>${version}</version>\n</dependency>`;
  const repository = `<repository>\n  <id>holt</id>\n  <url>${url}</url>\n</repository>`;
  // Gradle refuses repositories without TLS, also on the same machine.
  const insecure = location.protocol === "http:" ? "    isAllowInsecureProtocol = true\n" : "";
  const gradle = `repositories {\n  maven {\n    url = uri("${url}")\n${insecure}    credentials {\n      username = "USER"\n      password = "PASSWORD"\n    }\n  }\n}\ndependencies {\n  implementation("${groupId}:${artifactId}:${version}")\n}`;
  return [
    ["Maven, in servers of settings.xml", server],
    ["Maven, in pom.xml", `${repository}\n${dependency}`],
    ["Gradle, in build.gradle.kts", gradle],
    // Version 2 of Maven's deploy plugin needs the layout; version 3 takes it.
    ["Maven, to publish", `mvn deploy -DaltDeploymentRepository=holt::default::${url}`],
  ];
}
