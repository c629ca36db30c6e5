/** The address of an organization's logo. Pure. */
import { sha256Hex } from "../../lib/sha256.ts";

/** A new logo has a new address, so browsers may keep it. */
export function logoPath(organization: string, logo: string): string {
  return `/oauth/logo?organization=${organization}&v=${sha256Hex(logo).slice(0, 16)}`;
}
