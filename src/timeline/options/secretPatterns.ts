/** Names of keys whose values are secrets: of each way to write them, `apiKey`, `api_key` and `API-KEY`, the first. */
const secretName =
  /pass(word|wd|phrase|code)|secret|api_?key|private_?key|access_?key|auth_?token|access_?token|refresh_?token|id_?token|bearer|authorization|cookie|credential|session_?(id|key|token)|signature|^(token|pwd|auth|otp|pin|cvv|jwt)$/;

/** Whether a value is probably a secret by the name it has. */
export function isSecretName(name: string): boolean {
  return secretName.test(
    name
      .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
      .replaceAll("-", "_")
      .toLowerCase(),
  );
}

/**
 * Secrets by their own form, wherever they stand in a text. What a group before the secret takes stays. Each repetition has
 * an end, so that a hostile text of megabytes costs no more than its length.
 */
export const secretPatterns: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:\s{0,4}[A-Za-z-]{1,40}: [^\n]{1,200}){0,4}[A-Za-z0-9+/=\s\\]{0,9000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  /\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,200}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,255}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,255}/g,
  /\bglpat-[A-Za-z0-9_-]{16,100}/g,
  /\bnpm_[A-Za-z0-9]{30,60}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,200}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{30,60}/g,
  /\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,2000}/g,
  /(\b(?:Bearer|Basic)\s{1,4})[A-Za-z0-9._~+/-]{12,4000}={0,2}/gi,
  /(:\/\/[^\s:/@]{1,100}:)[^\s@/]{1,200}(?=@)/g,
  /((?:password|passwd|passphrase|secret|api[-_]?key|access[-_]?key|private[-_]?key|token)["']?\s{0,3}[:=]\s{0,3}["']?)(?!\[hidden\])[^\s"',;]{6,400}/gi,
];
