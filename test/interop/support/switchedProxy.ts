import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { json } from "node:stream/consumers";

type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] };
type Reply = { readonly id: unknown; readonly result?: unknown };
/** What is told instead of a result. */
export type Lie = (method: string, params: readonly unknown[], result: unknown) => unknown;

/** What stands between a node and anvil, and can be taken away or made to lie. */
export type SwitchedProxy = {
  readonly url: string;
  /** False: connections are cut and new ones closed at once, as by a server that is gone. */
  on(isUp: boolean): void;
  /** Requests answered so far. */
  answered(): number;
  close(): Promise<void>;
};

const listOf = <T>(one: T | readonly T[]): readonly T[] => (Array.isArray(one) ? one : [one as T]);

/** The replies to some calls, each with the lie about it in the place of its result. */
function retold(asked: Call | readonly Call[], told: Reply | readonly Reply[], lie: Lie): unknown {
  const calls = new Map(listOf(asked).map((call) => [call.id, call]));
  const retell = (reply: Reply): Reply => {
    const call = calls.get(reply.id);
    return call && "result" in reply ? { ...reply, result: lie(call.method, call.params, reply.result) } : reply;
  };
  return Array.isArray(told) ? told.map(retell) : retell(told as Reply);
}

/** Passes HTTP requests on to whatever `target` says at that moment. */
export async function startSwitchedProxy(target: () => string, lie?: Lie): Promise<SwitchedProxy> {
  let isUp = true;
  let count = 0;
  const sockets = new Set<Socket>();
  const lieAbout = async (incoming: IncomingMessage, reply: ServerResponse, how: Lie): Promise<void> => {
    const asked = (await json(incoming)) as Call | readonly Call[];
    const headers = { "content-type": "application/json" };
    const answer = await fetch(target(), { method: "POST", headers, body: JSON.stringify(asked) });
    count++;
    reply.writeHead(answer.status, headers).end(JSON.stringify(retold(asked, (await answer.json()) as Reply | readonly Reply[], how)));
  };
  const server = createServer((incoming, reply) => {
    if (lie) return void lieAbout(incoming, reply, lie).catch(() => reply.destroy());
    const forward = request(target(), { method: incoming.method, headers: incoming.headers }, (answer) => {
      count++;
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(reply);
    });
    forward.once("error", () => reply.destroy());
    incoming.pipe(forward);
  });
  server.on("connection", (socket) => {
    if (!isUp) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    on(wanted) {
      isUp = wanted;
      if (!isUp) cut();
    },
    answered: () => count,
    close() {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
