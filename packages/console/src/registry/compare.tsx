/** The packages that were added, removed and changed between an image and another one of its repository. */

import { Badge, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { useSearchState } from "../frame/search.ts";
import { FilterBar } from "../list/filter-bar.tsx";
import { WideTable } from "../object/wide-table.tsx";
import type { ImageProps } from "./image-packages.tsx";
import { differenceOf, type PackageDifference, readPackages } from "./package-difference.ts";

export function Compare({ uid, digest }: ImageProps) {
  const [search, change] = useSearchState();
  const { with: other = "" } = search;
  return (
    <Stack>
      <FilterBar
        filters={[{ kind: "text", id: "with", title: "Earlier image of this repository", placeholder: "sha256:…" }]}
        search={search}
        onChange={change}
      />
      {other === "" ? (
        <Text>Give the digest of an earlier image. The history of a tag leads here with the digest that it had before.</Text>
      ) : (
        <Difference uid={uid} digest={digest} other={other} />
      )}
    </Stack>
  );
}

function Difference({ uid, digest, other }: ImageProps & { readonly other: string }) {
  const { data, error } = useQuery({
    queryKey: ["package-difference", uid, other, digest],
    queryFn: async ({ signal }) => differenceOf(await readPackages(uid, other, signal), await readPackages(uid, digest, signal)),
  });
  if (error !== null) return <ErrorAlert error={error} title="The images cannot be compared" />;
  if (data === undefined) return <Loading />;
  if (data.length === 0) return <Text role="status">Both images have the same packages, as far as they are known.</Text>;
  return (
    <>
      <Text role="status">{data.length} differences</Text>
      <WideTable title="Differences">
        <Table.Thead>
          <Table.Tr>
            {["Package", "Change", "Before", "After", "Platform"].map((title) => (
              <Table.Th key={title} scope="col">
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {data.map((each) => (
            <Row key={[each.name, each.type, each.platform].join(" ")} difference={each} />
          ))}
        </Table.Tbody>
      </WideTable>
    </>
  );
}

function Row({ difference: { name, type, platform, before, after } }: { readonly difference: PackageDifference }) {
  const change = before === "" ? "added" : after === "" ? "removed" : "changed";
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        <bdi>{name}</bdi>{" "}
        <Text span size="sm">
          ({type})
        </Text>
      </Table.Td>
      <Table.Td>
        <Badge variant="outline" color="gray" styles={{ label: { color: "var(--mantine-color-text)" } }}>
          {change}
        </Badge>
      </Table.Td>
      {[before, after, platform].map((text, index) => (
        <Table.Td key={["before", "after", "platform"][index]} style={{ overflowWrap: "anywhere" }}>
          <bdi>{text}</bdi>
        </Table.Td>
      ))}
    </Table.Tr>
  );
}
