/** The address at which a person signs in. Pure. */

export interface SignInTarget {
  /** Name of an organization, or uid of its identity provider. Without it, the page asks. */
  readonly organization: string | undefined;
  /** Code of an invite. */
  readonly invite: string | undefined;
}

export function signInUrl(baseUrl: string, parameters: Readonly<Record<string, string>>, { organization, invite }: SignInTarget): string {
  const query = new URLSearchParams(parameters);
  if (organization !== undefined) query.set("idp_id", organization);
  if (invite !== undefined) query.set("invite", invite);
  return `${baseUrl}/oauth?${query}`;
}
