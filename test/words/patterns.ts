/** Turns of phrase that make technical English hard to read when a text has many of them. */
export const patterns: Readonly<Record<string, RegExp>> = {
  '"what" as a noun': /\bwhat(?! (?:does|do|did|is the|are the)\b[^.]*\?)\b/gi,
  '"none", "nobody" or "nothing" as subject or object': /\b(?:none|nobody|no one|nothing)\b/gi,
  '"that of", "those that", "the one"': /\b(?:that|those) of\b|\bthose that\b|\b(?:the )?ones? that\b|\bthe one\b/gi,
  '"goes on"': /\b(?:goes|go|went|going) on\b/gi,
  '"anew", "begun", "beside"': /\b(?:anew|begun|beside|besides|likewise|thereby|whereupon|amid)\b/gi,
  '"its own"': /\b(?:its|their) own\b/gi,
  '"absent"': /\babsent\b/gi,
  '"is asked", "tells"': /\b(?:is|are|was|were) (?:asked|told)\b|\b(?:asks|tells)\b/gi,
  '"comes", "stands", "takes place"': /\b(?:comes?|came|takes? place|stands?|stood|leads? to)\b/gi,
  '"as it is"': /\bas (?:it|they) (?:is|are|was|were)\b/gi,
  '"there is none", "is no"': /\bis not there\b|\bis no\b|\bthere (?:is|are) (?:none|no)\b/gi,
  '"began", "ended", "had"': /\b(?:began|ended|had)\b/gi,
  '"may have", "has to"': /\bmay have\b|\bha(?:s|ve) to\b/gi,
  '"also" or "too" after a comma': /, (?:also|too)\b|\btoo\b(?=[.,;:])/gi,
};
