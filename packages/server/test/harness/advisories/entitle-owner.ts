/** Gives the owner of an organization the capabilities for advisories, which the owner's role does not contain. */
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { World } from "../world.ts";

const { CAP_ADVISORIES_CREATE, CAP_ADVISORIES_UPDATE, CAP_ADVISORIES_DELETE } = Capability;

export async function entitleOwner(world: World, organization: string): Promise<void> {
  const role = await world.role(organization, [CAP_ADVISORIES_CREATE, CAP_ADVISORIES_UPDATE, CAP_ADVISORIES_DELETE]);
  await world.bind(world.owner.uid, role, organization);
}
