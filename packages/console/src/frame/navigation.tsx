/** The list of screens, by section. */
import { NavLink, Text } from "@mantine/core";
import { Link, useRouterState } from "@tanstack/react-router";
import type { Screen } from "../app/screens.ts";
import { screenPath, useOrganization } from "./organization.ts";

export function Navigation({ screens }: { readonly screens: readonly Screen[] }) {
  const organization = useOrganization();
  const current = useRouterState({ select: ({ location }) => location.pathname });
  const listed = screens.filter(({ section }) => section !== undefined);
  const sections = [...new Set(listed.map(({ section }) => section))];
  return sections.map((section) => (
    <div key={section}>
      <Text size="xs" c="dimmed" fw={600} px="sm" pt="sm">
        {section}
      </Text>
      {listed
        .filter((screen) => screen.section === section)
        .map(({ path, title, objects }) => {
          const to = screenPath(organization, path);
          const isObject = objects !== undefined && current.startsWith(`${screenPath(organization, objects)}/`);
          const isHere = current.replace(/\/$/, "") === to || isObject;
          return (
            <NavLink
              key={path}
              label={title}
              active={isHere}
              aria-current={isHere ? "page" : undefined}
              variant="subtle"
              // Otherwise Home would be current on each screen, because their addresses begin with that of Home.
              renderRoot={(props) => <Link {...props} to={to} search={{}} activeOptions={{ exact: true }} />}
            />
          );
        })}
    </div>
  ));
}
