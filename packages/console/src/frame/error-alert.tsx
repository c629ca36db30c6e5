/** Shows an error of the API where it happened. */
import { Alert, Anchor, Button, Code, Group, List, Text } from "@mantine/core";
import { type ApiError, apiErrorFrom } from "./errors.ts";
import { ScreenLink } from "./screen-link.tsx";

/** Leads to each document, and to the screen that accepts them. */
function MissingTerms({ documents }: { readonly documents: ApiError["missingTerms"] }) {
  return (
    <>
      <List size="sm" mt="xs">
        {documents.map(({ id, label, url }) => (
          <List.Item key={id}>
            {/^https:\/\//.test(url) ? (
              <Anchor href={url} target="_blank" rel="noreferrer" underline="always">
                <bdi>{label || id}</bdi>
              </Anchor>
            ) : (
              <bdi>{label || id}</bdi>
            )}
          </List.Item>
        ))}
      </List>
      <ScreenLink to="/terms" search={{ accept: documents.map(({ id }) => id).join(",") }} underline="always">
        Accept them
      </ScreenLink>
    </>
  );
}

export interface ErrorAlertProps {
  readonly error: unknown;
  readonly title?: string;
  /** Violations of these fields are shown at the fields instead. */
  readonly fieldsShownElsewhere?: ReadonlySet<string>;
  readonly onRetry?: () => void;
}

export function ErrorAlert({ error, title = "This did not work", fieldsShownElsewhere, onRetry }: ErrorAlertProps) {
  const { message, code, requestId, fields, preconditions, missingTerms } = apiErrorFrom(error);
  const others = fields.filter(({ field }) => !fieldsShownElsewhere?.has(field));
  const items = [
    ...others.map(({ field, description }) => `${field}: ${description}`),
    ...preconditions.map(({ description }) => description),
  ];
  return (
    <Alert color="red" title={title} role="alert" variant="outline">
      <Text>
        <bdi>{message}</bdi>
      </Text>
      {items.length > 0 && (
        <List size="sm" mt="xs">
          {items.map((item) => (
            <List.Item key={item}>
              <bdi>{item}</bdi>
            </List.Item>
          ))}
        </List>
      )}
      {missingTerms.length > 0 && <MissingTerms documents={missingTerms} />}
      <Group mt="xs" gap="md">
        <Text size="sm">
          Code <Code>{code}</Code>
        </Text>
        {requestId !== undefined && (
          <Text size="sm">
            Request <Code>{requestId}</Code>
          </Text>
        )}
        {onRetry !== undefined && (
          <Button size="compact-sm" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}
