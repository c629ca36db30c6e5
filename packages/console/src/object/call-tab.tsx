/** Shows how a program reads the object that is on the screen. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Stack, Text } from "@mantine/core";
import { CopyText } from "./copy-text.tsx";
import { restCall } from "./rest-path.ts";

export interface CallTabProps {
  readonly method: DescMethod;
  readonly uid: string;
  readonly digest?: string;
}

export function CallTab({ method, uid, digest }: CallTabProps) {
  const { verb, path } = restCall(method, uid, digest);
  return (
    <Stack>
      <Text>The same object over the API. A token comes from a sign-in, or from the exchange of a proof.</Text>
      <CopyText isBlock label="call with curl" text={`curl -H "Authorization: Bearer $TOKEN" "${location.origin}${path}"`} />
      <CopyText isBlock label="call with holt" text={`holt api ${verb} ${path}`} />
    </Stack>
  );
}
