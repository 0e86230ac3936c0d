/** Key names whose values are secrets. Variants such as `apiKey`, `api_key` and `API-KEY` are normalized first. */
const secretName = new RegExp(
  [
    /(password|passwd|passphrase|passcode|secret|credential)s?(_|$)/,
    /(api|private|access|account|signing|encryption|master|deploy|service|ssh)_?key(_|$)/,
    /(^|_)(bearer|cookies?|signature|jwt|mnemonic|seed_?phrase)$/,
    /authorization$/,
    /session_?(id|key)$/,
    /(^|_)(pass|pgpass|pwd|token|auth|otp|pin|cvv)$/,
  ]
    .map(({ source }) => source)
    .join("|"),
);

export function isSecretName(name: string): boolean {
  return secretName.test(
    name
      .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
      .replaceAll("-", "_")
      .toLowerCase(),
  );
}

const named = "pass(?:word|wd|phrase|code)?|pwd|secret|(?:api|access|private|account|signing|encryption)[-_]?key|token";

/**
 * Patterns of secrets in texts. A group before the secret is kept. To prevent quadratic time on hostile texts, an
 * unbounded repetition is the last part of its pattern, or starts where no other repetition of the same kind can start.
 */
export const secretPatterns: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s{0,4}[A-Za-z-]{1,40}: [^\n]{1,200}){0,4}[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g,
  /(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}/g,
  /(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|npm_|hf_|gsk_|whsec_|shp(?:at|ca|pa|ss)_|dop_v1_)[A-Za-z0-9_]{20,}/g,
  /(?<![A-Za-z0-9])(?:glpat-|xai-|xapp-|xox[abeoprs]-|GOCSPX-|pypi-|sq0csp-|sq0atp-)[A-Za-z0-9_-]{10,}/g,
  /\b(?:SG|hvs|ya29)\.[A-Za-z0-9._-]{16,}/g,
  /\bAGE-SECRET-KEY-[A-Z0-9]{20,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{30,}/g,
  /\b\d{8,10}:[A-Za-z0-9_-]{35}\b/g,
  /(hooks\.slack\.com\/services\/)[A-Za-z0-9/]{10,}/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /(?<=[_-])eyJ[A-Za-z0-9_-]{8,200}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /(\bauthorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:[a-z]{2,20}\s)?)(?!\[hidden\])[^\s"',;]{6,}/gi,
  /(\b(?:Bearer|Basic)\s{1,4})[A-Za-z0-9._~+/-]{12,}={0,2}/gi,
  /(\b(?:set-)?cookie\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)(?!\[hidden\])[^\n"']{6,}/gi,
  /(:\/\/[^\s:/@]{0,256}:)[^\s/]{1,256}(?=@)/g,
  /([?&](?:sig|signature|X-Amz-Signature|X-Goog-Signature)=)[A-Za-z0-9%+/=_-]{10,}/gi,
  new RegExp(`((?:${named})\\\\{0,3}["']?\\s{0,3}[:=]\\s{0,3}\\\\{0,3}["']?)(?!\\[hidden\\])[^\\s"',;\\\\]{6,}`, "gi"),
];
