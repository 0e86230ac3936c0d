export interface Choice {
  readonly chosen?: string | undefined;
  readonly other?: string | undefined;
  /** Whether the next selection is the second step of a comparison. */
  readonly comparing?: boolean;
  /** Whether the details cover the list on a narrow screen. */
  readonly open?: boolean;
}

export function linkTo({ chosen, other }: Choice): string {
  if (chosen === undefined) return "";
  const keys = other === undefined ? [chosen] : [chosen, other];
  return `#${keys.map((key) => encodeURIComponent(key).replaceAll("%20", "+")).join(",")}`;
}

export function choiceIn(hash: string): Choice {
  try {
    const [chosen, other] = hash
      .slice(1)
      .split(",")
      .map((key) => decodeURIComponent(key.replaceAll("+", "%20")));
    return chosen === undefined || chosen === "" ? {} : { chosen, other, open: true };
  } catch {
    return {};
  }
}
