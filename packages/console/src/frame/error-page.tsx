/** The page in place of a screen that cannot be shown. */
import { Button, Container, Stack, Text, Title } from "@mantine/core";
import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import { useDocumentTitle, useObjectName } from "./document-title.tsx";
import { ErrorAlert } from "./error-alert.tsx";

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  // The error may be of the session, which the router asks for before it draws the screen.
  const retry = () => void router.invalidate().then(reset, reset);
  useObjectName("This screen does not work");
  return (
    <Container size="sm" py="xl">
      <Stack>
        <Title order={1}>This screen does not work</Title>
        <ErrorAlert error={error} onRetry={retry} />
      </Stack>
    </Container>
  );
}

export function NotFoundPage() {
  return <MissingPage title="There is no such screen" />;
}

export function MissingPage({ title }: { readonly title: string }) {
  useDocumentTitle(title);
  useObjectName(title);
  return (
    <Container size="sm" py="xl">
      <Stack align="flex-start">
        <Title order={1}>{title}</Title>
        <Text>The address is mistyped, or leads to something that was removed.</Text>
        <Button renderRoot={(props) => <Link {...props} to="/" />}>Go to the start</Button>
      </Stack>
    </Container>
  );
}
