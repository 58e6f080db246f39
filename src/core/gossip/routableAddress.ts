/** First address and prefix length of the ranges that are not globally routable (p2p-wire.md 5.4; IANA special registry). */
const SPECIAL: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["240.0.0.0", 4],
];
const SPECIAL_RANGES = SPECIAL.map(([first, bits]) => ({ first: ipv4ToNumber(first) ?? 0, size: 2 ** (32 - bits) }));
const PROTOCOL_ASSIGNMENTS = ipv4ToNumber("192.0.0.0") ?? 0;

/** Four decimal parts without leading zeros, as a number; undefined for anything else. */
function ipv4ToNumber(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1);
  if (parts === undefined) return undefined;
  let value = 0;
  for (const part of parts) {
    if (Number(part) > 255 || String(Number(part)) !== part) return undefined;
    value = value * 256 + Number(part);
  }
  return value;
}

/** Whether an IPv4 address can be reached from anywhere, by the rule peers apply to exchanged addresses. */
export function isRoutableIpv4(text: string): boolean {
  const value = ipv4ToNumber(text);
  if (value === undefined) return false;
  const within = value - PROTOCOL_ASSIGNMENTS;
  if (within >= 0 && within < 256) return within === 9 || within === 10;
  return !SPECIAL_RANGES.some(({ first, size }) => value >= first && value < first + size);
}

/**
 * The form peers exchange: `/ip4/<routable>/tcp/<tcp port of the netid>`, whatever follows. Returns it cut to that
 * form, undefined when it does not start so.
 */
export function exchangeableAddress(address: string, tcpPort: number): string | undefined {
  const match = /^\/ip4\/([\d.]{7,15})\/tcp\/(\d{1,5})(?:\/|$)/.exec(address);
  if (match?.[1] === undefined || match[2] !== String(tcpPort) || !isRoutableIpv4(match[1])) return undefined;
  return `/ip4/${match[1]}/tcp/${tcpPort}`;
}
