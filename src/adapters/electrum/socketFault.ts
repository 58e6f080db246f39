/** What errors of sockets and of what is spoken over them mean to who named the server, and what there is to do. */
const SENTENCES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ECONNREFUSED: "nothing listens there: check its port, or whether it is down",
    ENOTFOUND: "there is no such host: check its name",
    EAI_AGAIN: "its name cannot be looked up now: check this machine's network",
    ETIMEDOUT: "it does not answer: it is down, or a firewall is in between",
    EHOSTUNREACH: "no way leads to it: check this machine's network, or it is down",
    ENETUNREACH: "no way leads to it: check this machine's network",
    ECONNRESET: "it broke the connection off: it is busy, or speaks another protocol at this port",
    EPIPE: "it closed the connection",
    EPROTO: "it does not speak TLS at this port: try protocol TCP or WS, or another port",
  }),
);
/** OpenSSL's reasons, and those of Node's reader of HTTP. */
const FAMILIES: readonly (readonly [family: RegExp, sentence: string])[] = [
  [/^ERR_SSL_/, "it does not speak TLS at this port, or none that this node does: try protocol TCP or WS, or another port"],
  [/^HPE_/, "it does not speak WebSocket at this port: try protocol TCP or SSL, or another port"],
];

/** The end of a sentence about a server. @param why an error's code, which is put behind it; other texts stay as they are */
export function socketFaultText(why: string): string {
  const sentence = SENTENCES.get(why) ?? FAMILIES.find(([family]) => family.test(why))?.[1];
  return sentence === undefined ? why : `${sentence} (${why})`;
}

/** The same of a connection that was not there in time. */
export const tooLateText = (timeoutMs: number): string =>
  `no connection within ${timeoutMs / 1000} s: it is down, or a firewall is in between`;
