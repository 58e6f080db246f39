/** Text of strict UTF-8; undefined if it is ill-formed (overlong forms and surrogates included). */
export function parseUtf8(bytes: Uint8Array): string | undefined {
  let text = "";
  for (const b of bytes) {
    if (b >= 0x80) return parseWide(bytes);
    text += String.fromCharCode(b);
  }
  return text;
}

/** The language's own strict decoder; core has no TextDecoder. */
function parseWide(bytes: Uint8Array): string | undefined {
  let escaped = "";
  for (const b of bytes) escaped += `%${b.toString(16).padStart(2, "0")}`;
  try {
    return decodeURIComponent(escaped);
  } catch (cause) {
    if (cause instanceof URIError) return undefined;
    throw cause;
  }
}
