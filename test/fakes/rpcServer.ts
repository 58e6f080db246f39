import { type HttpServerOptions, openHttpServer } from "../../src/adapters/httpServer/openHttpServer.ts";
import { Secret } from "../../src/core/util/secret.ts";
import type { HttpServer } from "../../src/ports/http.ts";
import { Auth } from "../../src/rpc/auth.ts";
import type { Method } from "../../src/rpc/define.ts";
import { Dispatcher } from "../../src/rpc/dispatch.ts";
import { createRpcHandler } from "../../src/rpc/rpcHandler.ts";
import { methodTable } from "../../src/rpc/table.ts";
import { type FakeNode, PASSWORD } from "./fakeNode.ts";
import { SilentLog } from "./silentLog.ts";

export type RpcOptions = {
  readonly localOnly?: boolean;
  readonly deadlineMs?: number;
  readonly log?: SilentLog;
  readonly methods?: readonly Method[];
};

export function fakeDispatcher(node: FakeNode, options: RpcOptions = {}): Dispatcher {
  return new Dispatcher({
    ctx: node.ctx,
    table: methodTable(options.methods),
    auth: new Auth(new Secret(PASSWORD), node.clock),
    clock: node.clock,
    log: options.log ?? new SilentLog(),
    localOnly: options.localOnly ?? true,
    deadlineMs: options.deadlineMs ?? 60_000,
  });
}

/** The RPC of a fake node on a free loopback port. */
export function serveRpc(node: FakeNode, http: Partial<HttpServerOptions> = {}, options: RpcOptions = {}): Promise<HttpServer> {
  return openHttpServer(createRpcHandler(fakeDispatcher(node, options)), { port: 0, ...http }, { log: new SilentLog(), clock: node.clock });
}

export type Answer = { readonly status: number; readonly text: string; readonly headers: Headers };

/** Sends a body as it is. */
export async function send(server: HttpServer, body: string, init: RequestInit & { readonly path?: string } = {}): Promise<Answer> {
  const { path = "/", ...rest } = init;
  const withBody = rest.method === "GET" ? {} : { body };
  const response = await fetch(`${server.url}${path}`, { method: "POST", ...withBody, ...rest });
  return { status: response.status, text: await response.text(), headers: response.headers };
}
