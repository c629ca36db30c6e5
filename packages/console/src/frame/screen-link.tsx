/** A link to a screen of the current organization. */
import { Anchor, type AnchorProps } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { screenPath, useOrganization } from "./organization.ts";
import type { Search } from "./search.ts";

export interface ScreenLinkProps extends AnchorProps {
  /** Path of the screen (app/screens.ts), without `$`. */
  readonly to: string;
  /** Uid of the object that the screen shows. */
  readonly uid?: string;
  readonly search?: Search;
  readonly tabIndex?: number;
  readonly onClick?: () => void;
  readonly children: ReactNode;
}

export function ScreenLink({ to, uid, search, children, ...anchor }: ScreenLinkProps) {
  const organization = useOrganization();
  return (
    <Anchor
      {...anchor}
      renderRoot={(props) => (
        <Link {...props} to={screenPath(organization, to, uid)} search={search ?? {}} activeOptions={{ exact: true }} />
      )}
    >
      {children}
    </Anchor>
  );
}
