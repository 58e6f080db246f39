/** One request as the HTTP server hands it on: the body is read, bounded and still unparsed. */
export type HttpRequest = {
  readonly verb: string;
  readonly body: Uint8Array;
  /** IP text of the client, as the socket names it. */
  readonly remoteAddress: string;
};

/** The body is JSON text; the server adds the headers. */
export type HttpReply = { readonly status: number; readonly body: string };

/** Answers one request. Never rejects: a failure is a reply. The client hanging up does not stop it. */
export type HttpHandler = (request: HttpRequest) => Promise<HttpReply>;

/** A listening server. */
export interface HttpServer {
  /** `http://127.0.0.1:7783`, with the real port when 0 was asked for. */
  readonly url: string;
  readonly port: number;
  /** Takes no new request, lets running ones finish for a short while, then closes every connection. */
  close(): Promise<void>;
}
