import { openHttpServer } from "../../src/adapters/httpServer/openHttpServer.ts";
import { createRpcHandler } from "../../src/rpc/rpcHandler.ts";
import { fakeNode, PASSWORD } from "../fakes/fakeNode.ts";
import { fakeDispatcher, send } from "../fakes/rpcServer.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import type { Provocation } from "./errorCatalogue.ts";

/** Sends one request of the catalogue through HTTP to a busy node of its own. */
export async function provoke(p: Provocation): Promise<{ readonly status: number; readonly error: string }> {
  const node = await fakeNode({ active: ["DOC", "MARTY", "WALLET"], busy: true });
  const handler = createRpcHandler(fakeDispatcher(node));
  const server = await openHttpServer(
    (request) => handler({ ...request, remoteAddress: p.from ?? request.remoteAddress }),
    { port: 0 },
    { log: new SilentLog(), clock: node.clock },
  );
  try {
    for (let i = 0; i < (p.afterFailures ?? 0); i++) await send(server, JSON.stringify({ userpass: "wrong", method: "my_orders" }));
    const call = { ...(p.userpass === null ? {} : { userpass: p.userpass ?? PASSWORD }), method: p.method };
    const body = p.v2 ? { ...call, mmrpc: "2.0", params: p.params ?? {}, id: 1 } : { ...call, ...p.params };
    const { status, text } = await send(server, JSON.stringify(body), p.verb ? { method: p.verb } : {});
    const { error } = JSON.parse(text);
    return { status, error: String(error) };
  } finally {
    await server.close();
  }
}
