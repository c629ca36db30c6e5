/** `/console/sign-in`: begins a sign-in, and takes its result: a code from the server's pages, or the secret of a link. */
import { Alert, Button, Code, Container, List, Stack, Text, Title } from "@mantine/core";
import { useRouter, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useDocumentTitle } from "../frame/document-title.tsx";
import { Loading } from "../frame/loading.tsx";
import type { Search } from "../frame/search.ts";
import { beginSignIn, takeSignIn } from "./authorization.ts";
import { signInWithCode, signInWithLink } from "./session.ts";

const LOST = "This tab did not begin the sign-in. Sign in again.";

export function SignIn() {
  const search = useSearch({ strict: false }) as Search;
  const router = useRouter();
  const hasBegun = useRef(false);
  const [problem, setProblem] = useState<string>();
  // The secret leaves the address at once, so that it is not in the history. No request contains a fragment.
  const [secret] = useState(() => new URLSearchParams(location.hash.slice(1)).get("link"));
  useDocumentTitle("Sign in");
  const isReturning = secret !== null || search.code !== undefined;

  useEffect(() => {
    if (!isReturning || hasBegun.current) return;
    hasBegun.current = true;
    const { code, state = "" } = search;
    history.replaceState(null, "", location.pathname);
    finish(secret, code ?? "", state).then(
      (returnTo) => leave(router, returnTo),
      (error: Error) => setProblem(error.message),
    );
  }, [isReturning, search, secret, router]);

  if (isReturning && problem === undefined) return <Loading />;
  if (search.done !== undefined) return <SignedInElsewhere />;
  return <SignInPage problem={problem} returnTo={search.return ?? "/"} isRepeated={search.again !== undefined} />;
}

interface SignInPageProps {
  readonly problem: string | undefined;
  readonly returnTo: string;
  /** Another tab waits for this sign-in. */
  readonly isRepeated: boolean;
}

function SignInPage({ problem, returnTo, isRepeated }: SignInPageProps) {
  const canBegin = crypto.subtle !== undefined;
  return (
    <Container size="xs" py="xl" component="main">
      <Stack>
        <Title order={1}>Sign in to Holt</Title>
        {problem !== undefined && (
          <Alert color="red" variant="outline" role="alert" title="You are not signed in">
            {problem}
          </Alert>
        )}
        {canBegin || (
          <Alert color="red" variant="outline" role="alert" title="This connection is not encrypted">
            Browsers allow signing in over HTTPS and on the server's own machine only. Open the console at such an address, or use a link.
          </Alert>
        )}
        <Button size="md" disabled={!canBegin} onClick={() => void beginSignIn(isRepeated ? "/sign-in?done=1" : returnTo)}>
          Sign in
        </Button>
        <Text c="dimmed" size="sm">
          Do you run this server? It prints a sign-in link at its first start. For another link, run this command in its folder:
        </Text>
        <Code block>npm run -s token -- --link</Code>
        <List size="sm" c="dimmed">
          <List.Item>A link can be used once, within ten minutes.</List.Item>
        </List>
      </Stack>
    </Container>
  );
}

/** In the tab that was opened from the dialog of an ended session. */
function SignedInElsewhere() {
  useEffect(() => window.close(), []);
  return (
    <Container size="xs" py="xl" component="main">
      <Title order={1}>You are signed in</Title>
      <Text mt="md">Close this tab and continue in the other one.</Text>
    </Container>
  );
}

/** @returns the address to go to, below the console */
async function finish(secret: string | null, code: string, state: string): Promise<string> {
  if (secret !== null) {
    await signInWithLink(secret);
    return "/";
  }
  const begun = takeSignIn(state);
  if (begun === undefined) throw new Error(LOST);
  await signInWithCode(code, begun.verifier);
  return begun.returnTo;
}

/** Only to addresses of the console: the router takes every text for a path below it. */
function leave(router: ReturnType<typeof useRouter>, returnTo: string): void {
  router.history.replace(`/console${returnTo.startsWith("/") ? returnTo : "/"}`);
}
