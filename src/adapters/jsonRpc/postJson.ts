import { type Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Aborted } from "../../ports/clock.ts";
import type { DaemonError } from "../../ports/daemonRpc.ts";
import type { DaemonEndpoint } from "./daemonEndpoint.ts";

export type HttpAnswer = { readonly status: number; readonly body: Buffer };

/** System error codes by what they mean to the person who set the daemon up. */
const SENTENCES: { readonly [code: string]: string } = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no such host",
  ETIMEDOUT: "the connection timed out",
  ECONNRESET: "it closed the connection",
  EPIPE: "it closed the connection",
  EHOSTUNREACH: "no route to the host",
};

/** What Node calls the steps before a connection stands: nothing of a request has left before they are done. */
const CONNECTING: readonly (string | undefined)[] = ["connect", "getaddrinfo"];

const DAEMON_HINT = "; is the daemon running with server=1?";

/** A daemon's sentence begins with its host. */
const about = (endpoint: DaemonEndpoint, ofDaemon: string, ofNode: string): string =>
  endpoint.what === "node" ? ofNode : `${endpoint.url.host}: ${ofDaemon}`;

function failure(endpoint: DaemonEndpoint, cause: NodeJS.ErrnoException): Result<never, DaemonError> {
  const said = SENTENCES[cause.code ?? ""] ?? cause.code ?? "the connection failed";
  const message = about(endpoint, cause.code === "ECONNREFUSED" ? `${said}${DAEMON_HINT}` : said, said);
  return err({ kind: "unreachable", message, ...(isConnecting(cause) ? { isUnsent: true } : {}) });
}

/** A host with several addresses has an error for each. */
const isConnecting = (cause: NodeJS.ErrnoException): boolean =>
  cause instanceof AggregateError ? cause.errors.every(isConnecting) : CONNECTING.includes(cause.syscall);

/** A kept connection the daemon closed while it was idle: the request never reached it. */
const isStale = (cause: NodeJS.ErrnoException, reused: boolean, answered: boolean): boolean =>
  reused && !answered && (cause.code === "ECONNRESET" || cause.code === "EPIPE");

/** One POST. Rejects with `Aborted` when `signal` fires; everything else is a value. */
export async function postJson(
  endpoint: DaemonEndpoint,
  agent: HttpAgent,
  body: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Result<HttpAnswer, DaemonError>> {
  const first = await postOnce(endpoint, agent, body, maxBytes, signal);
  return first === "stale" ? postAgain(endpoint, agent, body, maxBytes, signal) : first;
}

/**
 * Several kept connections may have gone stale together; each try uses one up. Where the daemon is not there any more, it may have ended with the
 * request in its hands.
 */
async function postAgain(...args: Parameters<typeof postOnce>): Promise<Result<HttpAnswer, DaemonError>> {
  for (;;) {
    const answer = await postOnce(...args);
    if (answer === "stale") continue;
    return answer.ok ? answer : err({ kind: "unreachable", message: answer.error.message });
  }
}

function postOnce(
  endpoint: DaemonEndpoint,
  agent: HttpAgent,
  body: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Result<HttpAnswer, DaemonError> | "stale"> {
  return new Promise((resolve, reject) => {
    const request = endpoint.url.protocol === "https:" ? httpsRequest : httpRequest;
    const login = Buffer.from(`${endpoint.user}:${endpoint.password.reveal()}`).toString("base64");
    let answered = false;
    const authorization = endpoint.user === "" ? {} : { authorization: `Basic ${login}` };
    const req = request(endpoint.url, {
      method: "POST",
      agent,
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...authorization },
    });
    const onAbort = (): void => {
      req.destroy();
      reject(new Aborted());
    };
    const finish = (answer: Result<HttpAnswer, DaemonError> | "stale"): void => {
      signal.removeEventListener("abort", onAbort);
      resolve(answer);
    };
    const onError = (cause: NodeJS.ErrnoException): void =>
      finish(isStale(cause, req.reusedSocket, answered) ? "stale" : failure(endpoint, cause));
    req.on("error", onError);
    req.on("response", (response: IncomingMessage) => {
      answered = true;
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size <= maxBytes) {
          chunks.push(chunk);
          return;
        }
        req.destroy();
        const said = `its answer is larger than ${maxBytes} bytes`;
        finish(err({ kind: "unreachable", message: about(endpoint, said, said) }));
      });
      response.on("error", onError);
      response.on("end", () => finish(ok({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) })));
      response.on("close", () => finish(failure(endpoint, { name: "Error", message: "", code: "ECONNRESET" })));
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    req.end(body);
  });
}
