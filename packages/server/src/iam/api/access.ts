/** Explains why a caller may or may not do something, and finds the identities that a token would sign in as. */
import { AccessService } from "@holt/api/gen/holt/v1/access_pb.ts";
import { implement, read } from "../../api/call/implement.ts";
import { type ExplainAccessCollaborators, explainAccess } from "./explain-access.ts";
import { type TestTokenCollaborators, testToken } from "./test-token.ts";

export function accessService(collaborators: ExplainAccessCollaborators & TestTokenCollaborators) {
  return implement(AccessService, {
    explainAccess: read((request, call) => explainAccess(request, call, collaborators)),
    testToken: read((request, call) => testToken(request, call, collaborators)),
  });
}
