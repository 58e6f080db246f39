import type { ServerResponse } from "node:http";
import type { HttpReply } from "../../ports/http.ts";
import type { HttpLimits } from "./limits.ts";

/** Answers of fewer characters always go out: all connections together hold as many of them as there may be connections. */
const SMALL = 1_048_576;

/** Answers that have not left yet: whoever asks and does not read has each of them kept in memory. */
export class Replies {
  readonly #limits: HttpLimits;
  #unread = 0;

  constructor(limits: HttpLimits) {
    this.#limits = limits;
  }

  /** False: nothing was sent, for too many large answers wait to be read. */
  send(response: ServerResponse, { status, body }: HttpReply): boolean {
    const { length } = body;
    if (length > SMALL && this.#unread + length > this.#limits.totalReplyBytes) return false;
    this.#unread += length;
    response.once("close", () => {
      this.#unread -= length;
    });
    response.statusCode = status;
    response.end(body);
    return true;
  }
}
