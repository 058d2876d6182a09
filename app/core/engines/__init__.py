"""Engines that are installed beside Epochmark: what there is for this computer, installing, checking, removing."""
