/** Why somebody may or may not do something, and whom a token would sign in as. */
import { AccessService } from "@holt/api/gen/holt/v1/access_pb.ts";
import { implement, read } from "../../api/call/implement.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { explainAccess } from "./explain-access.ts";
import { testToken } from "./test-token.ts";

export function accessService(dependencies: ServiceDependencies) {
  return implement(AccessService, {
    explainAccess: read((request, call) => explainAccess(request, call, dependencies)),
    testToken: read((request, call) => testToken(request, call, dependencies)),
  });
}
