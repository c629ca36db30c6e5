/** Serves the whole contract over gRPC, gRPC-Web and Connect, under all names of its services. */

import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { DescService } from "@bufbuild/protobuf";
import type { Answer } from "../../http/answer.ts";
import { type HttpRequest, type HttpResponse, remoteAddressOf } from "../../http/http-exchange.ts";
import { limitOtherBody } from "../../http/http2-server.ts";
import { unimplemented } from "../../lib/errors.ts";
import { clientText } from "../call/call-metadata.ts";
import type { Operation } from "../call/operation.ts";
import type { UnservedCalls } from "../call/unserved-calls.ts";
import { unknownOperation } from "../status.ts";
import { compileCanonicalPaths, serviceNames } from "./aliases.ts";
import { createConnectHandlers, serveByConnect } from "./connect-handlers.ts";
import { grpcStatus, statusTrailers } from "./grpc-status.ts";
import { type Health, healthRoutes } from "./health.ts";
import { isNative, serveUnary } from "./native-unary.ts";
import { reflectionRoutes } from "./reflection.ts";
import type { UnaryOptions, UnaryRoute } from "./unary-call.ts";

export interface GrpcOptions extends UnaryOptions {
  readonly operations: readonly Operation[];
  readonly services: readonly DescService[];
  readonly health: Health;
  readonly unserved: UnservedCalls;
}

/** Both return false, without touching the request, if it is not a gRPC request. */
export interface GrpcHandler {
  handleStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, answer: Answer): boolean;
  handleRequest(request: HttpRequest, response: HttpResponse): boolean;
}

export function createGrpcHandler(options: GrpcOptions): GrpcHandler {
  const { operations, services, profile, health, log } = options;
  const names = serviceNames(services, profile);
  const paths = compileCanonicalPaths(names);
  const byPath = new Map(operations.map((operation) => [`/${operation.name}`, operation]));
  const unary = compileUnaryRoutes(byPath, paths);
  const handlerOf = createConnectHandlers(byPath, options, (router) => {
    healthRoutes(router, health, new Set(names.map(({ name }) => name)));
    reflectionRoutes(router, names);
  });

  /** @returns whether there is a call of this path */
  function serveCall(requested: string, request: HttpRequest, response: HttpResponse): boolean {
    const { path, alias } = paths.get(requested) ?? { path: requested, alias: undefined };
    const handler = handlerOf(path);
    if (handler === undefined) return false;
    void serveByConnect(handler, { request, response, alias }, log);
    return true;
  }

  return {
    handleStream(stream, headers, answer) {
      const route = unary.get(headers[":path"] ?? "");
      if (route === undefined || !isNative(headers)) return false;
      serveUnary({ stream, headers, answer, route }, options);
      return true;
    },
    handleRequest(request, response) {
      const requested = pathOf(request.url ?? "");
      // Names of services have a dot, and most paths of REST have none.
      if (requested.includes(".") && serveCall(requested, request, response)) return true;
      // Only such a call may have an endless body.
      limitOtherBody(request, options.limits.requestMs);
      if (!isGrpc(request)) return false;
      refuseUnknown(request, requested, response, options);
      return true;
    },
  };
}

function compileUnaryRoutes(
  byPath: ReadonlyMap<string, Operation>,
  paths: ReturnType<typeof compileCanonicalPaths>,
): Map<string, UnaryRoute> {
  const routes = new Map<string, UnaryRoute>();
  for (const [requested, { path, alias }] of paths) {
    const operation = byPath.get(path);
    if (operation !== undefined) routes.set(requested, { operation, alias });
  }
  return routes;
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

function isGrpc({ headers }: HttpRequest): boolean {
  return headers["content-type"]?.startsWith("application/grpc") ?? false;
}

/** "Trailers-Only" in gRPC and in gRPC-Web: the status is in the headers. */
function refuseUnknown(request: HttpRequest, path: string, response: HttpResponse, options: GrpcOptions): void {
  const { headers } = request;
  const { profile, log, unserved } = options;
  const method = path.slice(1);
  unserved.report(method, {
    protocol: headers["content-type"]?.startsWith("application/grpc-web") ? "grpc-web" : "grpc",
    clientId: clientText(headers.cgclientid),
    userAgent: clientText(headers["user-agent"]),
    remoteAddress: remoteAddressOf(request, response),
  });
  const trailers = statusTrailers(grpcStatus(unimplemented(method), unknownOperation(profile), log));
  response.statusCode = 200;
  response.setHeader("content-type", headers["content-type"] ?? "application/grpc");
  for (const [name, value] of Object.entries(trailers)) response.setHeader(name, value);
  response.end();
}
