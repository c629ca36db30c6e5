/** Shows an error of the API where it happened. */
import { Alert, Anchor, Button, Code, Group, List, Text } from "@mantine/core";
import { type ApiError, apiErrorFrom } from "./errors.ts";
import { useOrganization } from "./organization.ts";
import { remedies } from "./remedies.ts";
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

interface RemedyLinkProps extends Pick<ErrorAlertProps, "onLeave"> {
  /** Type of the violation. */
  readonly type: string;
  /** Uid of the group or object that the refused call was about. */
  readonly scope: string;
}

/** Leads to the place where a person can change what is in the way; nothing if there is none in the console. */
function RemedyLink({ type, scope, onLeave }: RemedyLinkProps) {
  const organization = useOrganization();
  const remedy = remedies[type];
  if (remedy === undefined) return null;
  const { text, to, subject, search, isPage } = remedy;
  if (isPage)
    return (
      <Anchor href={to} underline="always">
        {text}
      </Anchor>
    );
  const uid = { call: scope, organization, none: "" }[subject];
  if (organization === "" || (subject === "call" && uid === "")) return null;
  return (
    <ScreenLink to={to} uid={uid} {...(search && { search })} {...(onLeave && { onClick: onLeave })} underline="always">
      {text}
    </ScreenLink>
  );
}

export interface ErrorAlertProps {
  readonly error: unknown;
  readonly title?: string;
  /** Violations of these fields are shown at the fields instead. */
  readonly fieldsShownElsewhere?: ReadonlySet<string>;
  readonly onRetry?: () => void;
  /** Called when a link of the alert is followed. */
  readonly onLeave?: (() => void) | undefined;
}

export function ErrorAlert({ error, title = "This did not work", fieldsShownElsewhere, onRetry, onLeave }: ErrorAlertProps) {
  const { message, code, requestId, fields, preconditions, scope, missingTerms } = apiErrorFrom(error);
  const others = fields.filter(({ field }) => !fieldsShownElsewhere?.has(field));
  // The message of the server names the first fields as well.
  const items = others.map(({ field, description }) => `${field}: ${description}`).filter((item) => !message.includes(item));
  return (
    <Alert color="red" title={title} role="alert" variant="outline">
      <Text>
        <bdi>{message}</bdi>
      </Text>
      {items.length + preconditions.length > 0 && (
        <List size="sm" mt="xs">
          {items.map((item) => (
            <List.Item key={item}>
              <bdi>{item}</bdi>
            </List.Item>
          ))}
          {preconditions.map(({ type, description }) => (
            <List.Item key={`${type} ${description}`}>
              <bdi>{description}</bdi> <RemedyLink type={type} scope={scope} onLeave={onLeave} />
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
