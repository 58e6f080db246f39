import { openHttpServer } from "../../../src/adapters/httpServer/openHttpServer.ts";
import { createSystemClock } from "../../../src/adapters/system/systemClock.ts";
import { Secret } from "../../../src/core/util/secret.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { HttpHandler } from "../../../src/ports/http.ts";
import { Auth } from "../../../src/rpc/auth.ts";
import type { RpcContext } from "../../../src/rpc/ctx.ts";
import type { Method } from "../../../src/rpc/define.ts";
import { Dispatcher } from "../../../src/rpc/dispatch.ts";
import { createRpcHandler } from "../../../src/rpc/rpcHandler.ts";
import { METHODS, methodTable } from "../../../src/rpc/table.ts";
import { type Answer, send } from "../../fakes/rpcServer.ts";
import { SilentLog } from "../../fakes/silentLog.ts";

export const PASSWORD = "Conformance*1";

/** A node in one of the states, asked over real HTTP. */
export type Stage = {
  readonly ask: (body: string) => Promise<Answer>;
  /** The declared kind of the failure the last request ended with; undefined: it did not, or the node is not one that can be watched. */
  readonly lastKind: () => string | undefined;
  /** Values the state begins with, for `$name`. */
  readonly kept: { readonly [name: string]: string };
  readonly steps: { readonly [name: string]: () => Promise<void> };
  readonly close: () => Promise<void>;
};

export type Served = Pick<Stage, "ask" | "lastKind" | "close">;

/**
 * The RPC over a context, on a free loopback port. Sockets have real time; `pass` lets the node's own time pass while a request is
 * being worked on, and only then.
 */
export async function serve(ctx: RpcContext, clock: Clock, pass: (until: () => boolean) => Promise<unknown>): Promise<Served> {
  let kind: string | undefined;
  const watched = METHODS.map(
    (method): Method => ({
      ...method,
      async run(params, context, call) {
        const outcome = await method.run(params, context, call);
        kind = outcome.kind === "fault" ? outcome.fault.kind : undefined;
        return outcome;
      },
    }),
  );
  const dispatcher = new Dispatcher({
    ctx,
    table: methodTable(watched),
    auth: new Auth(new Secret(PASSWORD), clock),
    clock,
    log: new SilentLog(),
    localOnly: true,
    deadlineMs: 60_000,
  });
  const answer = createRpcHandler(dispatcher);
  let busy = 0;
  const handler: HttpHandler = async (request) => {
    busy++;
    try {
      return await answer(request);
    } finally {
      busy--;
    }
  };
  const server = await openHttpServer(handler, { port: 0 }, { log: new SilentLog(), clock: createSystemClock() });
  return {
    async ask(body) {
      kind = undefined;
      let isDone = false;
      const sent = send(server, body).finally(() => {
        isDone = true;
      });
      while (!isDone) {
        if (busy > 0) await pass(() => busy === 0);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return sent;
    },
    lastKind: () => kind,
    close: () => server.close(),
  };
}
