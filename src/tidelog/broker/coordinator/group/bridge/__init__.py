"""Between both kinds of groups: classic members inside a consumer group, and changing a group's kind while it lives."""
