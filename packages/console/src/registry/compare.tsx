/** The packages that were added, removed and changed between an image and another one of its repository. */
import { useQuery } from "@connectrpc/connect-query";
import { ImageContentsService, type PackageDifference } from "@holt/api/gen/holt/v1/image_contents_pb.ts";
import { Badge, Stack, Table, Text } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { useSearchState } from "../frame/search.ts";
import { FilterBar } from "../list/filter-bar.tsx";
import { WideTable } from "../object/wide-table.tsx";
import type { ImageProps } from "./image-packages.tsx";

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
  const { data, error } = useQuery(ImageContentsService.method.compareImages, { uid, digest, before: other });
  if (error !== null) return <ErrorAlert error={error} title="The images cannot be compared" />;
  if (data === undefined) return <Loading />;
  const { differences, totalCount, isIncomplete } = data;
  if (differences.length === 0) return <Text role="status">Both images have the same packages, as far as they are known.</Text>;
  return (
    <>
      <Text role="status">
        {totalCount.toLocaleString("en")} {totalCount === 1n ? "difference" : "differences"}
        {differences.length < totalCount && `, of which these are the first ${differences.length.toLocaleString("en")}`}
      </Text>
      {isIncomplete && <Text>Not all packages of both images are known: they are still read, or could not be read.</Text>}
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
          {differences.map((each) => (
            <Row key={[each.name, each.type, each.platform].join(" ")} difference={each} />
          ))}
        </Table.Tbody>
      </WideTable>
    </>
  );
}

function Row({ difference: { name, type, platform, before, after } }: { readonly difference: PackageDifference }) {
  const change = before.length === 0 ? "added" : after.length === 0 ? "removed" : "changed";
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
      {[before.join(", "), after.join(", "), platform].map((text, index) => (
        <Table.Td key={["before", "after", "platform"][index]} style={{ overflowWrap: "anywhere" }}>
          <bdi>{text}</bdi>
        </Table.Td>
      ))}
    </Table.Tr>
  );
}
