import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ChainDaemon } from "./daemon.ts";
import { TransportFault } from "./faults.ts";
import { RPC_CODE, RpcError } from "./rpc/rpcError.ts";

export type RpcServerOptions = {
  /** 0: any free port. */
  readonly port: number;
  readonly user: string;
  readonly password: string;
};

/** Largest request body (a block in hex fits), bytes; most calls of one batch; most open connections. */
const MAX_BODY = 10_000_000;
const MAX_BATCH = 1_000;
const MAX_CONNECTIONS = 200;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
const HOST = "127.0.0.1";

type Reply = { readonly status: number; readonly body: unknown };

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** HTTP status of an error, as Core's server sends it. */
function statusOf(code: number): number {
  if (code === RPC_CODE.methodNotFound) return 404;
  return code === RPC_CODE.invalidRequest ? 400 : 500;
}

/** Null when larger than `MAX_BODY`. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > MAX_BODY) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/**
 * JSON-RPC 1.0 over HTTP on loopback, with basic authentication, as a coin daemon serves it: single calls and batches;
 * errors have the status Core gives them and a JSON body.
 */
export class RpcServer {
  readonly #daemon: ChainDaemon;
  readonly #expected: Buffer;
  readonly #server: Server;
  readonly #port: number;

  constructor(daemon: ChainDaemon, options: RpcServerOptions) {
    this.#daemon = daemon;
    this.#port = options.port;
    this.#expected = digest(`Basic ${Buffer.from(`${options.user}:${options.password}`).toString("base64")}`);
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((cause: unknown) => {
        // Only our own mistakes end here: calls turn what they throw into answers.
        response.destroy(cause instanceof Error ? cause : undefined);
      });
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.headersTimeout = HEADERS_TIMEOUT_MS;
    this.#server.requestTimeout = REQUEST_TIMEOUT_MS;
  }

  /** @returns the port it listens on */
  listen(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, HOST, () => {
        this.#server.off("error", reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** Compares digests, so that neither length nor content shows in the time it takes. */
  #isAuthorized(request: IncomingMessage): boolean {
    return timingSafeEqual(digest(request.headers.authorization ?? ""), this.#expected);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#isAuthorized(request)) {
      response.writeHead(401, { "WWW-Authenticate": 'Basic realm="jsonrpc"' }).end();
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(405, { Allow: "POST" }).end("JSONRPC server handles only POST requests");
      return;
    }
    const body = await readBody(request);
    if (body === null) {
      response.writeHead(413, { Connection: "close" }).end("request too large");
      return;
    }
    try {
      const reply = await this.#answer(body);
      response.writeHead(reply.status, { "Content-Type": "application/json" }).end(`${JSON.stringify(reply.body)}\n`);
    } catch (cause) {
      if (!(cause instanceof TransportFault)) throw cause;
      if (cause.kind === "connection_closed") response.destroy();
      else response.writeHead(500, { "Content-Type": "text/html" }).end("<html><body>Internal Server Error</body></html>");
    }
  }

  async #answer(body: string): Promise<Reply> {
    let parsed: unknown;
    try {
      parsed = JSON.parse(body);
    } catch {
      return { status: 500, body: failure(null, RPC_CODE.parse, "Parse error") };
    }
    if (!Array.isArray(parsed)) return this.#call(parsed);
    if (parsed.length > MAX_BATCH)
      return { status: 400, body: failure(null, RPC_CODE.invalidRequest, `at most ${MAX_BATCH} calls in a batch`) };
    const replies: unknown[] = [];
    for (const one of parsed) replies.push((await this.#call(one)).body);
    return { status: 200, body: replies };
  }

  async #call(request: unknown): Promise<Reply> {
    if (typeof request !== "object" || request === null || Array.isArray(request)) {
      return { status: 400, body: failure(null, RPC_CODE.invalidRequest, "Invalid Request object") };
    }
    const { id = null, method, params } = request as { id?: unknown; method?: unknown; params?: unknown };
    if (typeof method !== "string") return { status: 400, body: failure(id, RPC_CODE.invalidRequest, "Method must be a string") };
    try {
      return { status: 200, body: { result: await this.#daemon.call(method, params), error: null, id } };
    } catch (cause) {
      if (cause instanceof RpcError) return { status: statusOf(cause.code), body: failure(id, cause.code, cause.message) };
      if (cause instanceof TransportFault) throw cause;
      const text = cause instanceof Error ? cause.message : "internal error";
      return { status: 500, body: failure(id, RPC_CODE.misc, text) };
    }
  }
}

const failure = (id: unknown, code: number, message: string): object => ({ result: null, error: { code, message }, id });
