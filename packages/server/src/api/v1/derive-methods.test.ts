import assert from "node:assert/strict";
import { it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { RoleFilterSchema, Roles } from "@holt/api/gen/platform/iam/v1/roles_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { implement, read } from "../call/implement.ts";
import { deriveMethods } from "./derive-methods.ts";

it("a list of version 1 names the refused field as version 1 does", async () => {
  const refusing = implement(RolesService, {
    listRoles: read(async () => {
      throw invalidArgument("order_by", "order_by must name a field");
    }),
  });
  const differences = {
    "platform.iam.v1.Role": { absent: ["capabilities"] },
    "platform.iam.v1.RoleFilter": { absent: ["parent"], renamed: { name: "order_by" } },
  };
  const derived = deriveMethods(Roles, { services: [refusing], kind: "Role", differences });
  const call = { metadata: { collect() {} } } as never;
  await assert.rejects(async () => derived.list?.handle(create(RoleFilterSchema), call, undefined), {
    message: "Invalid argument: name: name must name a field",
  });
});
