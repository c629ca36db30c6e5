/** Handlers of version 1 for the settings of a registry, which is a group with its repos. */
import { create } from "@bufbuild/protobuf";
import { type Registry, RegistrySettingsSchema } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { type Handlers, read, write } from "../../../api/call/implement.ts";
import { assertGroupExists } from "../../../api/resource/write.ts";
import { notFound } from "../../../lib/errors.ts";
import { registrySettingsOf } from "../../registry-settings.ts";

export const registrySettingsHandlers = {
  getRegistrySettings: read(async ({ registryId }, { db }) => {
    const group = await db.selectFrom("group").select("uid").where("uid", "=", registryId).executeTakeFirst();
    if (group === undefined) throw notFound("Group", registryId);
    return create(RegistrySettingsSchema, { registryId, ...(await registrySettingsOf(registryId, db)) });
  }),

  updateRegistrySettings: write(async ({ registryId, uniqueTags, eolGracePeriod }, { db }) => {
    await assertGroupExists(registryId, db);
    const settings = { unique_tags: Number(uniqueTags), eol_grace_period: Number(eolGracePeriod) };
    await db
      .insertInto("registry_settings")
      .values({ group_uid: registryId, ...settings })
      .onConflict((conflict) => conflict.column("group_uid").doUpdateSet(settings))
      .execute();
    return create(RegistrySettingsSchema, { registryId, uniqueTags, eolGracePeriod });
  }),
} satisfies Handlers<typeof Registry>;
