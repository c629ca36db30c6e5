/** A field for a group or an identity, which is found by a part of its name. A uid can be pasted instead. */
import { useQuery } from "@connectrpc/connect-query";
import { SearchHit_Kind as Kind } from "@holt/api/gen/holt/v1/search_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { type ComboboxItem, type MantineSize, Select } from "@mantine/core";
import { useState } from "react";
import { useNameSearch } from "../frame/name-search.ts";
import { useOrganization } from "../frame/organization.ts";

export interface ObjectFieldProps {
  readonly kind: "group" | "identity";
  readonly label: string;
  readonly description?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  /** Whether the field gets the focus when its dialog opens. */
  readonly isFirst?: boolean;
  readonly size?: MantineSize;
  /** The uid; empty for none. */
  readonly value: string;
  readonly error?: string | undefined;
  readonly onChange: (uid: string) => void;
}

const UID = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/;
const MAX_HITS = 20;

export function ObjectField({ kind, label, description, placeholder, required, isFirst, size, value, error, onChange }: ObjectFieldProps) {
  const [typed, setTyped] = useState("");
  const chosen = useChosen(kind, value);
  const { found, state } = useFound(kind, typed === chosen?.label ? "" : typed);
  const pasted = UID.test(typed.trim()) ? [{ value: typed.trim(), label: typed.trim() }] : [];
  const options = new Map([...pasted, ...found, ...(chosen === undefined ? [] : [chosen])].map((option) => [option.value, option]));
  return (
    <Select
      label={label}
      description={description}
      placeholder={placeholder ?? "Part of a name, or a uid"}
      required={required}
      size={size}
      data-autofocus={isFirst || undefined}
      searchable
      clearable={required !== true}
      clearButtonProps={{ "aria-label": `Clear ${label}` }}
      data={[...options.values()]}
      // The server has compared the names.
      filter={({ options: all }) => all}
      nothingFoundMessage={MESSAGES[state]}
      value={value === "" ? null : value}
      error={error}
      onSearchChange={(text) => {
        setTyped(text);
        if (UID.test(text.trim())) onChange(text.trim());
      }}
      onChange={(uid) => onChange(uid ?? "")}
    />
  );
}

type SearchState = "short" | "searching" | "failed" | "done";

/** Shown where there is nothing to choose. */
const MESSAGES: Readonly<Record<SearchState, string>> = {
  short: "Type at least two characters",
  searching: "Searching…",
  failed: "The search failed. Type again, or paste a uid",
  done: "Nothing has this in its name",
};

/** The present value with its name. */
function useChosen(kind: ObjectFieldProps["kind"], uid: string): ComboboxItem | undefined {
  const byUid = { uidp: { ids: [uid] } };
  const groups = useQuery(GroupsService.method.listGroups, byUid, { enabled: kind === "group" && UID.test(uid) });
  const identities = useQuery(IdentitiesService.method.listIdentities, byUid, { enabled: kind === "identity" && UID.test(uid) });
  if (uid === "") return undefined;
  const [identity] = identities.data?.identities ?? [];
  const name = kind === "group" ? groups.data?.groups[0]?.name : identity?.name || identity?.email;
  return { value: uid, label: name ?? uid };
}

/** Objects with the text in their names. Before anything is typed: the organization with its first groups, or the people who are bound in it. */
function useFound(kind: ObjectFieldProps["kind"], typed: string): { readonly found: readonly ComboboxItem[]; readonly state: SearchState } {
  const organization = useOrganization();
  const search = useNameSearch(organization, typed, { kinds: [kind === "group" ? Kind.GROUP : Kind.IDENTITY], pageSize: MAX_HITS });
  const first = useQuery(
    GroupsService.method.listGroups,
    { uidp: { descendantsOf: organization }, pageSize: MAX_HITS, orderBy: "name" },
    { enabled: kind === "group" && organization !== "" },
  );
  const bound = useQuery(
    RoleBindingsService.method.listRoleBindings,
    { group: organization, pageSize: MAX_HITS },
    { enabled: kind === "identity" && organization !== "" },
  );
  const hits = search.hits.map(({ uid, name }) => ({ value: uid, label: labelOf(name, uid) }));
  const others =
    kind === "group"
      ? (first.data?.groups ?? []).map(({ uid, name }) => ({ value: uid, label: labelOf(name, uid) }))
      : (bound.data?.roleBindings ?? []).map(({ identity, identityUid }) => ({
          value: identityUid,
          label: identity?.name || identity?.email || identityUid,
        }));
  const matching = others.filter(({ label }) => label.toLowerCase().includes(typed.trim().toLowerCase()));
  const state = search.isShort ? "short" : search.isSearching ? "searching" : search.error === null ? "done" : "failed";
  return { found: [...hits, ...matching].slice(0, 2 * MAX_HITS), state };
}

/** Several groups may have the same name: the end of the uid tells them apart. */
function labelOf(name: string, uid: string): string {
  const end = uid.split("/").slice(1).at(-1)?.slice(0, 6);
  return end === undefined ? name : `${name} (${end})`;
}
