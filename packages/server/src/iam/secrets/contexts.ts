/** The contexts in which secrets are sealed. They bind a sealed secret to its row, so that a copy in another row does not open. */

export function clientSecretContext(identityProviderUid: string): string {
  return `identity_provider/${identityProviderUid}/client_secret`;
}

export function totpContext(identityUid: string): string {
  return `local_account/${identityUid}/totp`;
}
