import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { reasonOf } from "../../core/util/reasonOf.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HttpHandler, HttpServer } from "../../ports/http.ts";
import type { Log } from "../../ports/log.ts";
import { type BodyError, BodyReader } from "./bodyReader.ts";
import { Connections } from "./connections.ts";
import { DEFAULT_LIMITS, type HttpLimits } from "./limits.ts";
import { Places } from "./places.ts";
import { Replies } from "./replies.ts";
import { type GateOptions, isUnspecified, LOOPBACK_NAMES, refusal } from "./requestGate.ts";
import { readTlsFiles, type TlsFiles } from "./tlsFiles.ts";

export type HttpServerOptions = {
  /** `rpcip`; loopback unless the operator says otherwise. */
  readonly ip?: string;
  /** 0 = any free port. */
  readonly port: number;
  /** `rpccors`; default `http://localhost:3000` (`https:` with TLS), as in KDF. */
  readonly corsOrigin?: string;
  readonly altNames?: readonly string[];
  /** `https`: files with the certificate chain and its key, PEM. A missing certificate is made. */
  readonly tls?: TlsFiles;
  readonly limits?: Partial<HttpLimits>;
};

/**
 * HTTP server for the RPC. Every path but `/event-stream` is the endpoint; requests are bounded in size, time and number; callers that a
 * browser was tricked into being are refused before anything of theirs is read (`requestGate.ts`).
 * Rejects when the address cannot be bound or a certificate file cannot be read.
 */
export async function openHttpServer(
  handler: HttpHandler,
  options: HttpServerOptions,
  deps: { readonly log: Log; readonly clock: Clock },
): Promise<HttpServer> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const ip = options.ip ?? "127.0.0.1";
  const scheme = options.tls ? "https" : "http";
  const gate: GateOptions = {
    listenIp: ip,
    altNames: options.altNames ?? [],
    corsOrigin: options.corsOrigin ?? `${scheme}://localhost:3000`,
  };
  const places = new Places(limits.connections);
  const connections = new Connections(places, deps.clock, limits.lingerMs);
  const parts: Parts = { handler, gate, bodies: new BodyReader(limits), replies: new Replies(limits), connections, limits };
  const listener: RequestListener = (request, response) => {
    serve(request, response, parts).catch((cause: unknown) => {
      deps.log.error("http_request_failed", { error: cause });
      response.destroy();
    });
  };
  const serverOptions: ServerOptions = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    // A missing Host is refused by the gate, with a sentence.
    requireHostHeader: false,
  };
  const server = options.tls
    ? await createTls(options.tls, [...LOOPBACK_NAMES, ...(isUnspecified(ip) ? [] : [ip]), ...gate.altNames], serverOptions, listener, deps)
    : createServer(serverOptions, listener);
  server.on("connection", (socket: Socket) => places.admit(socket));
  // Those given up take a moment to be gone.
  server.maxConnections = 2 * limits.connections;
  server.timeout = limits.unreadTimeoutMs;
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => refuseBrokenClient(error, socket, parts.connections));
  // Whatever else is expected than "100-continue" is no reason to answer otherwise.
  server.on("checkExpectation", listener);
  await listen(server, ip, options.port);
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : options.port;
  const host = ip.includes(":") ? `[${ip}]` : ip;
  return { url: `${scheme}://${host}:${port}`, port, close: () => close(server, parts, deps.clock) };
}

async function createTls(
  files: TlsFiles,
  names: readonly string[],
  options: ServerOptions,
  listener: RequestListener,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<Server> {
  const { certFile, keyFile } = files;
  try {
    const pems = await readTlsFiles(files, names, clock.nowMs(), (file) =>
      log.warn("rpc_certificate_made", { file, names: names.join(" ") }),
    );
    // As bytes: an empty text would count as "not given", and no client would be answered.
    return createTlsServer(
      { ...options, handshakeTimeout: options.headersTimeout, cert: Buffer.from(pems.cert), key: Buffer.from(pems.key) },
      listener,
    );
  } catch (cause) {
    const reason = reasonOf(cause);
    throw new Error(`the certificate ${certFile} and its key ${keyFile} cannot be used (${reason})`, { cause });
  }
}

function listen(server: Server, ip: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, ip, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

type Parts = {
  readonly handler: HttpHandler;
  readonly gate: GateOptions;
  readonly bodies: BodyReader;
  readonly replies: Replies;
  readonly connections: Connections;
  readonly limits: HttpLimits;
};

async function serve(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  const { handler, gate, bodies, replies, connections, limits } = parts;
  const { socket } = request;
  if (!connections.begin(request, response)) return;
  // Someone who hangs up while we answer is no event of ours: the request itself runs on.
  response.on("error", () => response.destroy());
  response.setHeader("Access-Control-Allow-Origin", gate.corsOrigin);
  response.setHeader("Content-Type", "application/json");
  response.setHeader("X-Content-Type-Options", "nosniff");
  if (request.method === "OPTIONS" && refusal({ host: request.headers.host }, gate) === undefined) {
    response.setHeader("Access-Control-Allow-Methods", "POST, OPTIONS");
    response.setHeader("Access-Control-Allow-Headers", "Content-Type");
    response.setHeader("Access-Control-Max-Age", "3600");
    response.end();
    return;
  }
  const refused = refusal(request.headers, gate);
  if (refused !== undefined) {
    connections.endWithAnswer(socket);
    return refuse(response, 403, refused);
  }
  if (isEventStream(request.url)) {
    connections.endWithAnswer(socket);
    return refuseEventStream(response);
  }
  const body = await bodies.read(request);
  if (!body.ok) {
    connections.endWithAnswer(socket);
    return refuseBody(response, body.error, limits);
  }
  const reply = await handler({ verb: request.method ?? "", body: body.value, remoteAddress: socket.remoteAddress ?? "" });
  if (response.destroyed || replies.send(response, reply)) return;
  connections.endWithAnswer(socket);
  refuse(response, 503, ANSWER_LOST);
}

/** Unlike the other refusals it comes after the call, of which an order may have come. */
const ANSWER_LOST =
  "This node has too many answers that wait to be read to send this one; what was asked for may be done all the same, so look at the state before you repeat it";

/** The one path that is not the RPC endpoint. There is no stream of events here: KDF's answer where none is configured. */
const isEventStream = (url: string | undefined): boolean => url?.split("?")[0] === "/event-stream";

function refuseEventStream(response: ServerResponse): void {
  response.statusCode = 500;
  response.setHeader("Content-Type", "text/plain");
  response.setHeader("Connection", "close");
  response.end("Event streaming is disabled");
}

function refuseBody(response: ServerResponse, error: BodyError, limits: HttpLimits): void {
  switch (error.kind) {
    case "TooLarge":
      refuse(response, 413, `The request body is larger than ${limits.bodyBytes} bytes, the most this node reads`);
      break;
    case "Busy":
      refuse(response, 503, "This node is reading too many requests at once; try again in a moment");
      break;
    case "Broken":
      response.destroy();
  }
}

/** The rest of the request is not wanted: answer, and let the connection end with it. */
function refuse(response: ServerResponse, status: number, error: string): void {
  response.statusCode = status;
  response.setHeader("Connection", "close");
  response.end(JSON.stringify({ error }));
}

/** Not HTTP, headers too large, or too slow. */
function refuseBrokenClient(error: NodeJS.ErrnoException, socket: Socket, connections: Connections): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const [status, text] =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? ["408 Request Timeout", "The request did not arrive in time"]
      : error.code === "HPE_HEADER_OVERFLOW"
        ? ["431 Request Header Fields Too Large", "The headers of the request are too large"]
        : ["400 Bad Request", "This is not an HTTP request"];
  const body = JSON.stringify({ error: text });
  const last = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  connections.end(socket, last);
}

function close(server: Server, { connections, limits }: Parts, clock: Clock): Promise<void> {
  connections.close();
  return new Promise((resolve) => {
    const cancel = clock.after(limits.closeGraceMs, () => server.closeAllConnections());
    server.close(() => {
      cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}
