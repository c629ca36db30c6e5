/** A button for an operation. It is disabled if the person lacks a capability, and then names the capability and who can grant it. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Button, type ButtonProps, Text, Tooltip } from "@mantine/core";
import { useId } from "react";
import { useRights } from "../session/rights.ts";
import { useOwners } from "./owners.ts";

export interface ActionButtonProps extends ButtonProps {
  /** The operation that the button leads to. */
  readonly method?: DescMethod;
  /** Names of the capabilities of an action that is not an operation of the contract. */
  readonly capabilities?: readonly string[];
  /** Uid at which the operation needs its capabilities. */
  readonly uid: string;
  /** Whether the object is the person's own, so that the operation needs no capability. */
  readonly isOwn?: boolean;
  readonly onClick: () => void;
}

export function ActionButton({ method, capabilities, uid, isOwn = false, onClick, children, ...button }: ActionButtonProps) {
  const rights = useRights();
  const lacking = rights.missing(capabilities ?? method ?? [], uid);
  const missing = isOwn ? [] : lacking;
  const isOwner = rights.isOwner(uid);
  const owners = useOwners(uid, missing.length > 0 && !isOwner);
  const id = useId();
  if (missing.length === 0)
    return (
      <Button {...button} onClick={onClick}>
        {children}
      </Button>
    );
  const reason = `You lack ${missing.join(", ")} here. ${isOwner ? "As an owner, you can give yourself a role with it." : adviceFrom(owners)}`;
  return (
    <Tooltip withinPortal={false} label={reason} multiline maw="20rem" events={{ hover: true, focus: true, touch: true }}>
      {/* Not the attribute disabled: a disabled button cannot be focused, so its reason could not be reached by keyboard. */}
      <Button {...button} data-disabled aria-disabled aria-describedby={id} onClick={(event) => event.preventDefault()}>
        {children}
        <Text span id={id} style={{ position: "absolute", width: 1, height: 1, overflow: "hidden", clipPath: "inset(50%)" }}>
          {reason}
        </Text>
      </Button>
    </Tooltip>
  );
}

function adviceFrom(owners: readonly string[]): string {
  const named = owners.length === 0 ? "" : `, such as ${owners.join(", ")}`;
  return `An owner of the group or of one above can grant it${named}.`;
}
