const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
const combining = /[\p{Mn}\p{Me}\u200c\u200d]/u;
const ascii = /^[ -~]*$/;

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  if (ascii.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += wide.test(character) ? 2 : combining.test(character) ? 0 : 1;
  return width;
}
