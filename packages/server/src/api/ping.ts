/** Ping: answers any caller, and reads no token. */
import { create } from "@bufbuild/protobuf";
import { PingService as PingServiceV1, ResponseSchema } from "@holt/api/gen/platform/ping/v1/ping_pb.ts";
import { PingResponseSchema, PingService } from "@holt/api/gen/platform/ping/v2/ping_pb.ts";
import { implement, read } from "./call/implement.ts";

const response = "pong";

export const pingService = implement(PingService, { ping: read(async () => create(PingResponseSchema, { response })) });

export const pingServiceV1 = implement(PingServiceV1, { ping: read(async () => create(ResponseSchema, { response })) });
