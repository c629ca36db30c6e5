/** The frame of all screens of an organization: navigation, organization, person, and the place of the screen. */
import { Code } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Burger, Button, Group, Menu, Text, useMantineColorScheme } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { useSpotlight } from "@mantine/spotlight";
import { Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { screens } from "../app/screens.ts";
import { useRights } from "../session/rights.ts";
import { signOut } from "../session/session.ts";
import { SessionEndedDialog } from "../session/session-ended-dialog.tsx";
import { CommandPaletteButton } from "./command-palette-button.tsx";
import { commandPaletteStore, openCommandPalette } from "./command-palette-store.ts";
import { Dialog } from "./dialog.tsx";
import { Titled } from "./document-title.tsx";
import { ErrorAlert } from "./error-alert.tsx";
import { MissingPage } from "./error-page.tsx";
import classes from "./layout.module.css";
import { Navigation } from "./navigation.tsx";
import { useOrganization } from "./organization.ts";
import { OrganizationSwitcher } from "./organization-switcher.tsx";

const CommandPalette = lazy(() => import("./command-palette.tsx"));

export function Layout() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);

  // A new screen begins at its top, for people who do not see it as well.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs for each new screen
  useEffect(() => {
    close();
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [path]);

  return (
    <div className={classes.frame}>
      <a className={classes.skip} href="#main">
        Skip to the content
      </a>
      <header className={classes.header}>
        <Burger className={classes.burger} opened={isOpen} onClick={toggle} aria-label="Navigation" aria-expanded={isOpen} size="sm" />
        <OrganizationSwitcher />
        <Group gap="xs" ml="auto" wrap="nowrap">
          <CommandPaletteButton />
          <PersonMenu />
        </Group>
      </header>
      <nav className={classes.navigation} data-open={isOpen || undefined} aria-label="Screens">
        <Navigation screens={screens} />
      </nav>
      <main id="main" ref={main} tabIndex={-1} className={classes.main}>
        <Content />
      </main>
      <SessionEndedDialog />
      <Palette />
    </div>
  );
}

/** A screen of an organization that was deleted would look like one of an empty organization. */
function Content() {
  const { data, error } = useQuery(GroupsService.method.getGroup, { uid: useOrganization() });
  if (error?.code === Code.NotFound) return <MissingPage title="There is no such organization" />;
  return (
    <Titled organization={data?.name}>
      <Outlet />
    </Titled>
  );
}

/** Its code is loaded when it opens for the first time. */
function Palette() {
  const { opened } = useSpotlight(commandPaletteStore);
  const [isLoaded, setLoaded] = useState(opened);
  if (opened && !isLoaded) setLoaded(true);
  // Also in fields.
  useHotkeys([["mod+K", openCommandPalette]], []);
  if (!isLoaded) return null;
  return (
    <Suspense>
      <CommandPalette screens={screens} />
    </Suspense>
  );
}

function PersonMenu() {
  const { name } = useRights();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [error, setError] = useState<unknown>();
  const leave = () => {
    setError(undefined);
    signOut().then(() => location.assign("/console/"), setError);
  };
  return (
    <Menu position="bottom-end" shadow="md">
      <Menu.Target>
        <Button variant="default" size="xs" aria-label={`${name}: you and this browser`} className={classes.person}>
          <bdi className={classes.personName}>{name}</bdi>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Colors</Menu.Label>
        {(["auto", "light", "dark"] as const).map((scheme) => (
          <Menu.Item key={scheme} onClick={() => setColorScheme(scheme)} aria-current={scheme === colorScheme}>
            {{ auto: "As the system", light: "Light", dark: "Dark" }[scheme]}
            {scheme === colorScheme && (
              <Text span c="dimmed" size="xs">
                {" "}
                (now)
              </Text>
            )}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item component="a" href="/oauth/account">
          Your account
        </Menu.Item>
        <Menu.Item component="a" href="/docs/manual">
          Manual
        </Menu.Item>
        <Menu.Item component="a" href="/docs">
          API browser
        </Menu.Item>
        <Menu.Item onClick={leave}>Sign out</Menu.Item>
      </Menu.Dropdown>
      {error !== undefined && (
        <Dialog title="You are still signed in" onClose={() => setError(undefined)}>
          <ErrorAlert error={error} onRetry={leave} />
        </Dialog>
      )}
    </Menu>
  );
}
