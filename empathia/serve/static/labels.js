// The labels of evidence and wishes in everyday words.

export const MECHANISMS = {
  emotional_reaction: ["Warmth", "showing that it is moved"],
  interpretation: ["Understanding", "saying what it understood"],
  exploration: ["Exploring", "asking what was not said"],
};

export const LEVELS = ["none", "some", "much"];

// ATOMIC's relations, read for the person who speaks; others are shown by their own name.
export const RELATIONS = {
  xReact: "you may feel", xWant: "you may want", xNeed: "you may have needed", xIntent: "you may have meant",
  xEffect: "what may follow", xAttr: "you may seem", oReact: "others may feel", oWant: "others may want", oEffect: "for others",
};
